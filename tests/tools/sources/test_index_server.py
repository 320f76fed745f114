"""Releases from an index that is a server, on this machine: credentials, failures, no connection."""

from __future__ import annotations

import base64
import http.server
import logging
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.sources.helpers import contents, opened, refused, use_index

pytestmark = pytest.mark.usefixtures("own_settings")


class _Server(http.server.ThreadingHTTPServer):
    folder: Path
    password: str | None = None
    status: int | None = None
    cut: bool = False
    asked: list[str]


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        expected = (
            self.server.password and "Basic " + base64.b64encode(self.server.password.encode()).decode()
        )
        if self.server.status:
            self.send_error(self.server.status)
        elif expected and self.headers.get("Authorization") != expected:
            self.send_error(401)
        elif self.path == "/simple/vllm/":
            links = "".join(f'<a href="/f/{p.name}">{p.name}</a>' for p in self.server.folder.iterdir())
            self._answer(f"<html><body>{links}</body></html>".encode(), "text/html")
        elif self.path.startswith("/f/"):
            self._answer((self.server.folder / self.path[3:]).read_bytes(), "application/octet-stream")
        else:
            self.send_error(404)

    def _answer(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if self.server.cut and kind != "text/html" else body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing to the terminal."""


@pytest.fixture
def server(index: Path) -> Iterator[_Server]:
    running = _Server(("127.0.0.1", 0), _Handler)
    running.folder, running.asked = index, []
    thread = threading.Thread(target=running.serve_forever, args=(0.02,))
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


def test_credentials_are_used_and_never_shown(
    server: _Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.password = "me:s3cret"
    host = f"127.0.0.1:{server.server_port}"
    use_index(monkeypatch, f"http://me:s3cret@{host}/simple")
    snapshot = opened("vllm==0.11.0", tmp_path / "cache")
    assert contents(snapshot)
    use_index(monkeypatch, f"http://me:wr0ng-s3cret@{host}/simple")
    error = refused(lambda: opened("vllm==0.10.0", tmp_path / "cache"))
    assert "401" in error.why
    manifest = (tmp_path / "cache/releases/vllm/0.11.0/manifest.json").read_text()
    for text in (str(error), manifest, caplog.text, snapshot.identity.model_dump_json()):
        assert "s3cret" not in text


def test_servers_that_fail(server: _Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"http://127.0.0.1:{server.server_port}/simple"
    use_index(monkeypatch, url)
    server.status = 503
    error = refused(lambda: opened("vllm==0.11.0", tmp_path / "cache"))
    assert "503" in error.why
    assert "could not be asked" in error.why
    server.status, server.cut = None, True
    assert "broke off" in refused(lambda: opened("vllm==0.11.0", tmp_path / "cache")).why
    assert server.asked.count("/f/vllm-0.11.0.tar.gz") == 3
    assert not list((tmp_path / "cache/releases/vllm").glob(".0.11.0-*"))
    server.cut = False
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "http://127.0.0.1:1/simple")
    assert contents(opened("vllm==0.11.0", tmp_path / "cache"))


def test_no_connection_and_no_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_index(monkeypatch, "http://127.0.0.1:1/simple")
    assert "refused" in refused(lambda: opened("vllm==1.0", tmp_path)).why

    def no_name(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", no_name)
    use_index(monkeypatch, "https://me:s3cret@packages.example/simple")
    error = refused(lambda: opened("vllm==1.0", tmp_path))
    assert "resolved" in error.why
    assert "s3cret" not in str(error)
    use_index(monkeypatch, "http://packages.example/simple")
    assert "trusted host" in refused(lambda: opened("vllm==1.0", tmp_path)).why
    monkeypatch.setenv("PIP_CERT", str(tmp_path / "none.pem"))
    assert "settings" in refused(lambda: opened("vllm==1.0", tmp_path)).why
