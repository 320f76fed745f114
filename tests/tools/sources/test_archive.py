"""Archives that nobody vouches for."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tools.sources.helpers import make_sdist, refused
from tools.sources import archive as archive_module
from tools.sources.archive import unpack
from tools.sources.archive_members import Limits
from tools.sources.snapshot import blob_id


def tar_of(place: Path, *members: tuple[str, bytes, bytes, str]) -> Path:
    """A tar of (name, type, content, link target)."""
    with tarfile.open(place, "w:gz") as tar:
        for name, kind, content, target in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, target, len(content)
            tar.addfile(info, io.BytesIO(content))
    return place


def file(name: str, content: bytes = b"x") -> tuple[str, bytes, bytes, str]:
    return (name, tarfile.REGTYPE, content, "")


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[str, bytes, bytes, str]:
    return (name, kind, b"", target)


HOSTILE = {
    "absolute": [file("/etc/x")],
    "parent": [file("p/../../x")],
    "parent inside": [file("p/a/../x")],
    "windows": [file("C:\\x")],
    "backslash": [file("p\\..\\..\\x")],
    "symlink up": [file("p/a"), link("p/l", "../../x")],
    "symlink absolute": [link("p/l", "/etc/passwd")],
    "hardlink up": [link("p/l", "../x", tarfile.LNKTYPE)],
    "hardlink absolute": [link("p/l", "/etc/passwd", tarfile.LNKTYPE)],
    "link chain": [link("p/d", "."), link("p/l", "d/../../x"), file("p/a")],
    "through a link": [link("p/d", "e"), file("p/d/x"), file("p/e/y")],
    "device": [("p/d", tarfile.CHRTYPE, b"", "")],
    "block device": [("p/d", tarfile.BLKTYPE, b"", "")],
    "pipe": [("p/d", tarfile.FIFOTYPE, b"", "")],
    "twice": [file("p/a"), file("p/a", b"y")],
    "twice after normalisation": [file("p/a"), file("p/./a", b"y")],
    "twice after unicode": [file("p/\u00e9.py"), file("p/e\u0301.py")],
    "twice as a link": [file("p/a"), link("p/a", "b")],
    "file and folder": [file("p/a"), file("p/a/b")],
    "folder and file": [file("p/a/b"), file("p/a")],
    "empty folder and file": [("p/a", tarfile.DIRTYPE, b"", ""), file("p/a"), file("p/b")],
    "nameless": [file(".")],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives_are_refused_and_write_nothing_outside(name: str, tmp_path: Path) -> None:
    place = tar_of(tmp_path / "a.tar.gz", *HOSTILE[name])
    dest = tmp_path / "deep" / "dest"
    dest.mkdir(parents=True)
    error = refused(lambda: unpack(place, dest, "pkg==1"))
    assert error.what == "pkg==1"
    assert "do not trust" in error.remedy
    assert {p.name for p in tmp_path.iterdir()} == {"a.tar.gz", "deep"}
    assert {p.name for p in (tmp_path / "deep").iterdir()} == {"dest"}
    assert not [p for p in dest.rglob("*") if p.is_symlink()]


def test_links_inside_become_copies_and_others_are_recorded(tmp_path: Path) -> None:
    place = tar_of(
        tmp_path / "a.tar.gz",
        file("p/real/a.py", b"a"),
        link("p/soft.py", "real/a.py"),
        link("p/real/hard.py", "p/real/a.py", tarfile.LNKTYPE),
        link("p/chain.py", "soft.py"),
        link("p/folder", "real"),
        link("p/dangling", "nothing"),
        link("p/loop", "loop"),
    )
    dest = tmp_path / "dest"
    dest.mkdir()
    result = unpack(place, dest, "x")
    assert set(result.files) == {"real/a.py", "soft.py", "real/hard.py", "chain.py"}
    assert all(entry == (1, blob_id(b"a")) for entry in result.files.values())
    assert {item.path for item in result.skipped} == {"folder", "dangling", "loop"}
    on_disk = {str(p.relative_to(dest)) for p in dest.rglob("*") if p.is_file()}
    assert on_disk == set(result.files)
    assert all(p.is_file() or p.is_dir() for p in dest.rglob("*"))
    assert not [p for p in dest.rglob("*") if p.is_symlink()]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress, bytes])
def test_every_compression_and_what_truncation_does(
    compress: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    make_sdist(tmp_path / "p-1.tar.gz", {"a.py": os.urandom(5000), "b.py": "b"})
    data = compress(gzip.decompress((tmp_path / "p-1.tar.gz").read_bytes()))
    place = tmp_path / "archive"
    place.write_bytes(data)
    (tmp_path / "whole").mkdir()
    assert set(unpack(place, tmp_path / "whole", "x").files) == {"a.py", "b.py"}
    cuts = [len(data) // 2, 700] + ([] if compress is bytes else [len(data) - 3])
    for number, cut in enumerate(cuts):
        place.write_bytes(data[:cut])
        dest = tmp_path / f"cut{number}"
        dest.mkdir()
        assert "truncated or corrupt" in refused(lambda dest=dest: unpack(place, dest, "x")).why  # type: ignore[misc]


@pytest.mark.parametrize(
    "data", [b"", b"nonsense" * 200, b"PK\3\4nonsense", b"\x1f\x8bnonsense", b"BZh9" + b"x" * 99]
)
def test_what_is_no_archive(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(data)
    (tmp_path / "d").mkdir()
    assert "truncated or corrupt" in refused(lambda: unpack(tmp_path / "a", tmp_path / "d", "x")).why


def test_a_flipped_bit_is_noticed(tmp_path: Path) -> None:
    place = make_sdist(tmp_path / "p-1.tar.gz", {"a.py": os.urandom(5000)})
    data = bytearray(place.read_bytes())
    data[len(data) // 2] ^= 1
    place.write_bytes(data)
    (tmp_path / "d").mkdir()
    assert "truncated or corrupt" in refused(lambda: unpack(place, tmp_path / "d", "x")).why


def test_limits(tmp_path: Path) -> None:
    place = make_sdist(tmp_path / "p-1.tar.gz", {f"{n}.bin": b"\0" * 1000 for n in range(20)})
    for number, limits in enumerate((Limits(total=5000), Limits(members=10))):
        dest = tmp_path / str(number)
        dest.mkdir()
        assert "more than" in refused(lambda dest=dest, limits=limits: unpack(place, dest, "x", limits)).why  # type: ignore[misc]
    bomb = tmp_path / "bomb.tar.gz"
    bomb.write_bytes(gzip.compress(b"\0" * 3_000_000))
    (tmp_path / "bomb").mkdir()
    assert refused(lambda: unpack(bomb, tmp_path / "bomb", "x", Limits(total=1_000_000))).why


def test_a_header_that_claims_to_be_huge_is_not_read(tmp_path: Path) -> None:
    info = tarfile.TarInfo("pax")
    info.type, info.size = tarfile.XHDTYPE, 1 << 30
    (tmp_path / "a").write_bytes(gzip.compress(info.tobuf() + b"\0" * 4096))
    (tmp_path / "d").mkdir()
    assert "header" in refused(lambda: unpack(tmp_path / "a", tmp_path / "d", "x")).why


def test_large_files_are_recorded_not_kept(tmp_path: Path) -> None:
    place = make_sdist(tmp_path / "p-1.tar.gz", {"a.py": "a", "big.png": b"\0" * (5 << 20)})
    (tmp_path / "d").mkdir()
    result = unpack(place, tmp_path / "d", "x")
    assert set(result.files) == {"a.py"}
    assert result.skipped[0].path == "big.png"
    assert [p.name for p in (tmp_path / "d").iterdir()] == ["a.py"]


def test_the_top_folder_goes_only_when_it_is_the_only_one(tmp_path: Path) -> None:
    nested = make_sdist(tmp_path / "n.tar.gz", {"p/p/a.py": "a", "p/b.py": "b"}, top="p")
    flat = make_sdist(tmp_path / "f.tar.gz", {"x/a.py": "a", "setup.py": "s"}, top="")
    for place, expected in ((nested, {"p/p/a.py", "p/b.py"}), (flat, {"x/a.py", "setup.py"})):
        dest = tmp_path / place.stem
        dest.mkdir()
        assert set(unpack(place, dest, "x").files) == expected
        assert {str(p.relative_to(dest)) for p in dest.rglob("*") if p.is_file()} == expected


def zip_of(place: Path, members: dict[str, tuple[bytes, int]]) -> Path:
    with zipfile.ZipFile(place, "w") as bundle:
        for name, (content, mode) in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            bundle.writestr(info, content)
    return place


def test_zip_archives_obey_the_same_rules(tmp_path: Path) -> None:
    regular, soft = stat.S_IFREG | 0o644, stat.S_IFLNK | 0o777
    good = zip_of(
        tmp_path / "g.zip", {"p/a.py": (b"a", regular), "p/l.py": (b"a.py", soft), "p/n.py": (b"n", 0)}
    )
    (tmp_path / "g").mkdir()
    assert set(unpack(good, tmp_path / "g", "x").files) == {"a.py", "l.py", "n.py"}
    bad: list[dict[str, tuple[bytes, int]]] = [
        {"/etc/x": (b"x", regular)},
        {"p/../../x": (b"x", regular)},
        {"p/l": (b"../../x", soft)},
        {"p/l": (b"y" * 5000, soft)},
        {"p/pipe": (b"", stat.S_IFIFO | 0o644)},
    ]
    for number, members in enumerate(bad):
        dest = tmp_path / f"bad{number}"
        dest.mkdir()
        place = zip_of(tmp_path / f"bad{number}.zip", members)
        assert "do not trust" in refused(lambda place=place, dest=dest: unpack(place, dest, "x")).remedy  # type: ignore[misc]


def test_a_zip_that_lies_about_sizes(tmp_path: Path) -> None:
    place = zip_of(tmp_path / "a.zip", {"p/a.py": (b"a" * 1000, 0)})
    data = place.read_bytes().replace((1000).to_bytes(4, "little"), (10).to_bytes(4, "little"))
    place.write_bytes(data)
    (tmp_path / "d").mkdir()
    assert "truncated or corrupt" in refused(lambda: unpack(place, tmp_path / "d", "x")).why


def test_a_full_disk_is_not_called_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = make_sdist(tmp_path / "p-1.tar.gz", {"a.py": "a"})

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive_module, "create", full)
    (tmp_path / "d").mkdir()
    with pytest.raises(OSError, match="No space") as caught:
        unpack(place, tmp_path / "d", "x")
    assert caught.value.errno == 28
