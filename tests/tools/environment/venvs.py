"""Virtual environments with tiny distributions in them, laid out as an installer would leave them."""

from __future__ import annotations

import json
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.tools.sources.helpers import write
from tools.environment.answer import Answer
from tools.environment.ask import ask

TRAP = "raise SystemExit('imported')\n"
"""Content of every package here: whoever imports one ends at once."""

PLUGIN_POINTS = """\
[vllm.platform_plugins]
metax = vllm_metax:register
[vllm.general_plugins]
metax_ops = vllm_metax:register_out_of_tree
"""

FINDER = """\
import os, sys
from importlib.machinery import PathFinder
from importlib.util import spec_from_file_location
MAPPING: dict[str, str] = {mapping!r}
NAMESPACES: dict[str, list[str]] = {{}}
class _EditableFinder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if os.environ.get("HOOK_MARK"):
            open(os.environ["HOOK_MARK"], "a").write(name)
        if name in MAPPING:
            return spec_from_file_location(name, MAPPING[name] + "/__init__.py")
def install():
    sys.meta_path.append(_EditableFinder)
"""
"""As setuptools writes it, in short. With HOOK_MARK set, it tells whoever calls it."""


@dataclass(frozen=True)
class Venv:
    """One environment."""

    root: Path

    @property
    def python(self) -> Path:
        return self.root / "bin" / "python"

    @property
    def site(self) -> Path:
        return next((self.root / "lib").glob("python*")) / "site-packages"

    def install(
        self,
        name: str,
        files: Mapping[str, str],
        version: str = "1.0",
        *,
        site: Path | None = None,
        meta: Mapping[str, str] | None = None,
        record: bool = True,
    ) -> Path:
        """Puts ``files`` and metadata with a record of them into site-packages; returns the metadata's folder."""
        place = site or self.site
        info = f"{name.replace('-', '_')}-{version}.dist-info"
        metadata = {
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            f"{info}/INSTALLER": "pip\n",
            **{f"{info}/{path}": text for path, text in (meta or {}).items()},
        }
        rows = "".join(f"{path},,\n" for path in [*files, *metadata, f"{info}/RECORD"])
        write(place, {**files, **metadata, **({f"{info}/RECORD": rows} if record else {})})
        return place / info

    def vllm(self, version: str = "0.26.0", **options: object) -> Path:
        """An ordinary vLLM."""
        return self.install("vllm", {"vllm/__init__.py": TRAP, "vllm/envs.py": "A = 1\n"}, version, **options)  # type: ignore[arg-type]

    def plugin(self, version: str = "0.26.0") -> Path:
        """An ordinary plugin."""
        return self.install(
            "vllm-metax", {"vllm_metax/__init__.py": TRAP}, version, meta={"entry_points.txt": PLUGIN_POINTS}
        )

    def editable(self, name: str, package: str, project: Path, how: str = "mapping") -> Path:
        """``project`` installed editable: by a finder hook, or by a path line."""
        direct = {"url": project.as_uri(), "dir_info": {"editable": True}}
        meta = {"direct_url.json": json.dumps(direct), "entry_points.txt": PLUGIN_POINTS}
        if how == "mapping":
            hook = f"__editable___{package}_1_0_finder"
            files = {
                f"{hook}.py": FINDER.format(mapping={package: str(project / package)}),
                f"__editable__.{package}-1.0.pth": f"import {hook}; {hook}.install()\n",
            }
        else:
            files = {f"__editable__.{package}-1.0.pth": f"{project}\n"}
        return self.install(name, files, meta=meta)

    def ask(self, cwd: Path, **options: object) -> Answer:
        """What the probe answers about vLLM, the plugin and torch."""
        return ask(
            self.python,
            distributions=["vllm", "vllm-metax", "torch"],
            imports=["vllm", "vllm_metax", "torch"],
            cwd=cwd,
            **options,  # type: ignore[arg-type]
        )


def make_venv(root: Path, *, shared: bool = False) -> Venv:
    """An environment without pip; ``shared``: with the packages of its base."""
    venv.create(root, symlinks=True, with_pip=False, system_site_packages=shared)
    return Venv(root)
