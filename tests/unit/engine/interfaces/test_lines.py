import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.engine.interfaces.formats.lines import (
    after_bytes,
    after_lines,
    content,
    first_line,
    split,
    texts,
)

TEXTS = st.lists(st.sampled_from([b"a", b"bb", b"", b"\xc3\xa9", b"c\r"]), max_size=30).flatmap(
    lambda lines: st.sampled_from([b"\n".join(lines), b"\n".join([*lines, b""])])
)
with_a_file = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)


@with_a_file
@given(data=TEXTS, rows=st.integers(1, 5))
def test_runs_of_lines_cover_the_file_once_and_never_cut_a_line(
    tmp_path: Path, data: bytes, rows: int
) -> None:
    file = tmp_path / "f"
    file.write_bytes(data)
    place, runs = 0, []
    while place < len(data):
        end = after_lines(file, place, len(data), rows)
        runs.append(content(file, place, end))
        place = end
    assert b"".join(runs) == data
    assert all(run.count(b"\n") == rows and run.endswith(b"\n") for run in runs[:-1])


@with_a_file
@given(data=TEXTS, limit=st.integers(1, 9))
def test_runs_of_bytes_end_where_a_line_ends(tmp_path: Path, data: bytes, limit: int) -> None:
    file = tmp_path / "f"
    file.write_bytes(data)
    place, runs = 0, []
    while place < len(data):
        end = after_bytes(file, place, len(data), limit)
        runs.append(content(file, place, end))
        place = end
    assert b"".join(runs) == data
    assert all(run.endswith(b"\n") for run in runs[:-1])


def test_a_file_that_has_grown_is_read_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"a\nb\nc\n")
    assert after_lines(file, 0, 2, 5) == 2
    assert content(file, 0, 2) == b"a\n"


def test_a_file_that_has_shrunk_cannot_be_read(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"a\n")
    with pytest.raises(OSError, match="less"):
        content(file, 0, 5)


def test_blank_lines_and_carriage_returns_are_left_out() -> None:
    lines, rejects = texts(split(b"a\r\n\r\n  \t\nb\n\n"))
    assert lines.to_pylist() == ["a", "b"]
    assert rejects is None


def test_lines_that_are_not_utf8_are_rejects() -> None:
    lines, rejects = texts(split(b"a\n\xff\xfe\nb\xc3\xa9"))
    assert lines.to_pylist() == ["a", "bé"]
    assert rejects is not None
    assert rejects.select(["raw", "reason", "kind"]).to_pylist() == [
        {"raw": "\ufffd\ufffd", "reason": "the line is not UTF-8", "kind": "encoding"}
    ]


def test_a_compressed_file_is_read_as_its_text(tmp_path: Path) -> None:
    file = tmp_path / "f.json.gz"
    file.write_bytes(gzip.compress(b"head\nbody\n"))
    assert content(file, 0, None) == b"head\nbody\n"
    assert first_line(file) == b"head"


def test_the_first_line_is_without_its_mark_and_end(tmp_path: Path) -> None:
    file = tmp_path / "f.csv"
    file.write_bytes(b"\xef\xbb\xbfa,b\r\n1,2\n")
    assert first_line(file) == b"a,b"
