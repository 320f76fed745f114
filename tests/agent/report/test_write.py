"""Writing: which files, in one step, the same bytes each time, and what happens when the disk says no."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agent.report import FORMATS, ReportWriteError, write_reports
from tests.agent.report.records import RULES
from tests.agent.report.sample import sample_report
from tests.agent.report.variants import hostile_report, large_report
from tools.findings import Report

ROOT = Path(__file__).parents[3]


@contextmanager
def file_size_limit(number: int) -> Iterator[None]:
    """The kernel refuses to let a file of this process grow beyond ``number`` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (number, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_writes_what_is_asked_for_into_a_new_folder(tmp_path: Path) -> None:
    out = tmp_path / "a" / "b"
    paths = write_reports(sample_report(), out, ["md", "json", "md"], rules=RULES)
    assert paths == [out / "report.md", out / "report.json"]
    assert sorted(path.name for path in out.iterdir()) == ["report.json", "report.md"]


def test_all_formats_are_written_by_default(tmp_path: Path) -> None:
    paths = write_reports(sample_report(), tmp_path)
    assert [path.suffix[1:] for path in paths] == list(FORMATS)
    assert all(path.stat().st_size > 500 for path in paths)


def test_an_unknown_format_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no report format 'pdf'"):
        write_reports(sample_report(), tmp_path / "out", ["md", "pdf"])
    assert not (tmp_path / "out").exists()


def test_a_failed_write_leaves_the_old_report_and_no_litter(tmp_path: Path) -> None:
    (path,) = write_reports(sample_report(), tmp_path, ["json"])
    before = path.read_bytes()
    with file_size_limit(1000), pytest.raises(ReportWriteError) as caught:
        write_reports(hostile_report(), tmp_path, ["json"])
    assert caught.value.path == path
    assert caught.value.remedy
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["report.json"]


def test_a_file_in_the_place_of_the_folder_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(ReportWriteError, match="choose another folder with --out"):
        write_reports(sample_report(), tmp_path / "out", ["md"])
    with pytest.raises(ReportWriteError, match="choose another folder with --out"):
        write_reports(sample_report(), tmp_path / "out" / "deeper", ["md"])
    assert (tmp_path / "out").read_text() == "mine"


def test_a_folder_in_the_place_of_the_report_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "report.md").mkdir()
    with pytest.raises(ReportWriteError, match=r"report\.md"):
        write_reports(sample_report(), tmp_path, ["md"])
    assert [item.name for item in tmp_path.iterdir()] == ["report.md"]


def test_a_full_disk_says_so() -> None:
    error = ReportWriteError(Path("out"), OSError(errno.ENOSPC, "No space left on device"))
    assert str(error) == (
        "cannot write out: No space left on device. Free some space or choose another folder with --out."
    )


@pytest.mark.parametrize("report", [sample_report(), hostile_report()], ids=["sample", "hostile"])
def test_without_timings_only_they_differ(report: Report, tmp_path: Path) -> None:
    slower = report.model_copy(update={"timings": {"sources": 99.0}})
    one = write_reports(report, tmp_path / "1", rules=RULES, timings=False)
    two = write_reports(slower, tmp_path / "2", rules=RULES, timings=False)
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]


def test_timings_take_one_line_of_markdown_and_html(tmp_path: Path) -> None:
    with_them = write_reports(sample_report(), tmp_path / "1", ["md", "html"], rules=RULES)
    without = write_reports(sample_report(), tmp_path / "2", ["md", "html"], rules=RULES, timings=False)
    for one, two in zip(with_them, without, strict=True):
        left_out = set(one.read_text().splitlines()) - set(two.read_text().splitlines())
        assert len(left_out) == 1
        assert "sources 3.2 s" in left_out.pop()


def test_the_same_report_gives_the_same_bytes_in_another_process(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from agent.report import write_reports;"
        "from tests.agent.report.records import RULES; from tests.agent.report.variants import large_report;"
        "write_reports(large_report(20, 30), Path(sys.argv[1]), rules=RULES)"
    )
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / seed)],
            check=True,
            cwd=ROOT,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        )
    here = write_reports(large_report(20, 30), tmp_path / "here", rules=RULES)
    for path in here:
        assert path.read_bytes() == (tmp_path / "1" / path.name).read_bytes()
        assert path.read_bytes() == (tmp_path / "2" / path.name).read_bytes()
