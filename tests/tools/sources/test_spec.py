"""What a user may type, and what is said when it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.sources.helpers import contents, make_repo, opened, refused, write
from tools.sources.cache import default_cache

MALFORMED = [
    "",
    "   ",
    "nowhere",
    "nowhere@main",
    "nowhere:index",
    ":index",
    "@main",
    "pypi:",
    "pypi:vllm",
    "pypi:vllm==",
    "pypi:vllm>=0.11",
    "pypi:==1.0",
    "vllm==",
    "vllm==latest",
    "vllm==0.11.*",
    "vllm===0.11.0",
    "vllm>=0.11.0",
    "vllm=0.11.0",
    "vllm[all]==0.11.0",
    "vllm==0.11.0,!=0.11.1",
    "installed:",
    "installed:../x",
    "installed:vllm==1",
    "https://example.org/x.git",
    "~nobody-has-this-name/x",
    "a\0b",
    "x" * 5000,
]


@pytest.mark.parametrize("spec", MALFORMED)
@pytest.mark.parametrize("role", ["plugin", "base", "target"])
def test_malformed_specs_say_which_forms_there_are(
    spec: str, role: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    error = refused(lambda: opened(spec, role=role))
    assert error.wrong_use
    assert role in error.what
    assert "PATH@REV" in error.remedy
    assert ("pypi:vllm-metax==" if role == "plugin" else "vllm==VERSION") in error.remedy
    assert not list(tmp_path.iterdir())


def test_credentials_in_a_spec_are_not_repeated() -> None:
    error = refused(lambda: opened("https://me:s3cret@example.org/x.git?token=abc#frag"))
    for text in (str(error), error.what, repr(error)):
        assert "s3cret" not in text
        assert "abc" not in text


def test_paths_relative_home_and_odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("plain", "odd@name", "odd:index", "x==1.0", "installed:x", "with space"):
        write(tmp_path / name, {"a.py": name})
        for spec in (name, f"./{name}", f"~/{name}", str(tmp_path / name), f"{name}/"):
            snapshot = opened(spec)
            assert contents(snapshot) == {"a.py": name.encode()}
            assert (snapshot.identity.kind, snapshot.identity.label) == ("folder", spec)


def test_the_revision_starts_after_the_longest_path_that_exists(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "a@b" / "repo@x", {"a.py": "a"})
    make_repo(tmp_path / "a@b" / "repo", {"b.py": "b"})
    assert opened(f"{repo}@main").paths() == ("a.py",)
    assert opened(f"{repo}@main@{{0}}").paths() == ("a.py",)
    assert opened(f"{repo}:index").paths() == ("a.py",)
    assert "'x@nope'" not in refused(lambda: opened(f"{repo}@nope")).what


def test_views_need_a_repository(tmp_path: Path) -> None:
    write(tmp_path / "plain", {"a.py": "a"})
    for view in ("@main", ":index", ":worktree"):
        error = refused(lambda view=view: opened(f"{tmp_path}/plain{view}"))  # type: ignore[misc]
        assert error.wrong_use
        assert "not a git repository" in error.why
    for spec in ("plain/a.py", "plain/a.py@main", "plain/a.py:index"):
        error = refused(lambda spec=spec: opened(tmp_path / spec))  # type: ignore[misc]
        assert error.wrong_use
        assert "is a file" in error.why


def test_the_cache_folder_can_be_put_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("METAX_UPGRADE_CACHE", raising=False)
    assert default_cache().name == "metax-upgrade"
    monkeypatch.setenv("METAX_UPGRADE_CACHE", str(tmp_path / "c"))
    assert default_cache() == tmp_path / "c"
