"""LOD004: scripts that copy files into the installed upstream package."""

from __future__ import annotations

from tests.tools.trees import findings
from tools.findings import Severity

BASE = {"layers/quant/__init__.py": "def lookup(): ...", "user.py": "from vllm.layers.quant import lookup"}
TARGET = {
    "layers/quant/__init__.py": "def lookup(): ...\ndef METHODS(): ...\ndef unused(): ...",
    "user.py": "from vllm.layers.quant import METHODS, lookup",
}
COPIED = {"quant_init.py": "def lookup(): ...\n"}


def test_copy_that_lacks_what_target_imports() -> None:
    script = 'cp vllm_metax/quant_init.py "$SITE/vllm/layers/quant/__init__.py"\n'
    (found,) = findings({**COPIED, "/install.sh": script}, BASE, TARGET, "LOD004")
    assert found.path == "install.sh"
    assert found.severity is Severity.WARNING
    assert "METHODS" in found.message
    assert "unused" not in found.message
    assert found.evidence


def test_copies_in_other_files() -> None:
    steps = {
        "/setup.py": 'shutil.copy("vllm_metax/quant_init.py", "/opt/site-packages/vllm/layers/quant/__init__.py")\n',
        "/docker/Dockerfile": "RUN cp -f vllm_metax/quant_init.py /opt/site-packages/vllm/layers/quant/__init__.py\n",
        "/docs/install.md": "    cp quant_init.py site-packages/vllm/layers/quant/__init__.py\n",
    }
    for path, text in steps.items():
        assert len(findings({**COPIED, path: text}, BASE, TARGET, "LOD004")) == 1, path


def test_complete_copy_is_a_note() -> None:
    files = {
        "quant_init.py": TARGET["layers/quant/__init__.py"],
        "/i.sh": "cp quant_init.py /x/vllm/layers/quant/__init__.py",
    }
    (found,) = findings(files, BASE, TARGET, "LOD004")
    assert found.severity is Severity.NOTE


def test_other_copies() -> None:
    for line in (
        "cp vllm_metax/quant_init.py /opt/vllm_metax/layers/quant/__init__.py",
        "# cp quant_init.py site-packages/vllm/layers/quant/__init__.py",
        "cp libx.so site-packages/vllm/libx.so",
        "cp quant_init.py build/vllm/layers/unknown.py",
    ):
        assert not findings({**COPIED, "/install.sh": line + "\n"}, BASE, TARGET, "LOD004"), line
