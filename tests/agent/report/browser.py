"""Headless Chromium through its debugging pipe: no port, no library."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_chromium() -> str | None:
    """Its path, or None."""
    return next((path for path in map(shutil.which, _NAMES) if path), None)


class Browser:
    """One page; ``problems`` and ``requests`` collect what it complains about and asks for."""

    def __init__(self, program: str, profile: Path) -> None:
        to_read, self._to = os.pipe()
        self._from, to_write = os.pipe()
        # Chromium reads commands from descriptor 3 and answers on 4.
        script = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        self._process = subprocess.Popen(
            ["bash", "-c", script, "bash", program, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(to_read, to_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._number = 0
        self._buffer = b""
        self._session: str | None = None
        self.scripts = True
        self.problems: list[str] = []
        self.requests: list[str] = []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(timeout=20)
        os.close(self._to)
        os.close(self._from)

    def call(self, method: str, **params: Any) -> Any:
        """Send one command and wait for its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _read(self) -> Any:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], 60)
            assert ready, "Chromium does not answer"
            chunk = os.read(self._from, 1 << 16)
            assert chunk, "Chromium is gone"
            self._buffer += chunk
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def _note(self, event: Any) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(str(params["exceptionDetails"]))
        elif method == "Log.entryAdded":
            self.problems.append(str(params["entry"]["text"]))
        elif method == "Runtime.consoleAPICalled":
            self.problems.append(str(params["args"]))

    def open(self, url: str, *, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
        """Load ``url`` afresh in a window of that size and wait until it is drawn."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        # Between two addresses that differ only after '#' nothing would be loaded.
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        deadline = time.monotonic() + 60
        while self.js("document.readyState + location.protocol") != "completefile:":
            assert time.monotonic() < deadline, f"{url} does not load"
            time.sleep(0.02)
        if self.scripts:
            self.settle()

    def settle(self) -> None:
        """Wait for three frames: scrolling to a finding takes two. Needs a page that may run scripts."""
        frame = "new Promise(done => requestAnimationFrame(done))"
        self.js(f"(async () => {{ for (let n = 0; n < 3; n++) await {frame}; }})()")

    def allow_scripts(self, allowed: bool) -> None:
        """Whether pages may run scripts; ``js`` works either way."""
        self.call("Emulation.setScriptExecutionDisabled", value=not allowed)
        self.scripts = allowed

    def js(self, expression: str) -> Any:
        """The value of ``expression``; what it throws fails the test."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release one key."""
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = {"Tab": 9, "Enter": 13, "Escape": 27}.get(key, ord(key[0]))
        for kind in ("keyDown", "keyUp"):
            extra = text if kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **extra)

    def screenshot(self, path: Path) -> bytes:
        """Save what the window shows."""
        content = base64.b64decode(self.call("Page.captureScreenshot")["data"])
        path.write_bytes(content)
        return content
