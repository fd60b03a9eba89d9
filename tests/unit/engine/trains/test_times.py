import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.trains.times import footer_span, span_of

MICROS = st.integers(-(10**15), 4 * 10**15)
DAY = datetime(2024, 1, 1, tzinfo=UTC)


def micros(unit: str) -> int:
    return {"s": 10**6, "ms": 10**3, "us": 1}[unit]


def times(values: list[int | None], unit: str = "us", zone: str | None = "UTC") -> pa.Table:
    return pa.table(
        {"n": list(range(len(values))), "ts": pa.array(values, pa.timestamp(unit, zone))}
    )


@given(st.lists(MICROS | st.none()))
@settings(deadline=None)
def test_the_span_of_a_table_is_its_least_and_greatest_time(values: list[int | None]) -> None:
    known = [value for value in values if value is not None]
    assert span_of(times(values), "ts") == ((min(known), max(known)) if known else None)


@given(
    st.lists(st.lists(MICROS, min_size=1, max_size=8), min_size=1, max_size=3),
    st.sampled_from(["s", "ms", "us"]),
    st.sampled_from([None, "UTC", "Europe/Berlin"]),
    st.integers(1, 4),
)
@settings(deadline=None)
def test_footers_tell_the_span_of_their_files(
    files: list[list[int]], unit: str, zone: str | None, group: int
) -> None:
    files = [[value // micros(unit) for value in values] for values in files]
    with tempfile.TemporaryDirectory() as home:
        paths = [Path(home) / f"{place}.parquet" for place in range(len(files))]
        for path, values in zip(paths, files, strict=True):
            pq.write_table(times(values, unit, zone), path, row_group_size=group)
        found = footer_span(paths, "ts")
    every = [value * micros(unit) for values in files for value in values]
    assert found == (min(every), max(every))


def test_nanoseconds_are_told_to_the_microsecond_before(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(times([1_999, 5_000_000_001], "ns"), path)
    assert footer_span([path], "ts") == (1, 5_000_000)


@pytest.mark.parametrize(
    ("table", "options"),
    [
        (times([1, None, 3]), {}),
        (times([1, 2, 3]), {"write_statistics": False}),
        (times([1, 2, 3]), {"use_deprecated_int96_timestamps": True}),
        (pa.table({"ts": [1, 2, 3]}), {}),
        (pa.table({"other": [DAY]}), {}),
        (pa.table({"TS": [DAY]}), {}),
        (times([]), {}),
    ],
)
def test_where_footers_do_not_tell_there_is_no_span(
    tmp_path: Path, table: pa.Table, options: dict[str, bool]
) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, **options)
    assert footer_span([path], "ts") is None


def test_one_file_that_does_not_tell_silences_all(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.parquet", tmp_path / "bad.parquet"
    pq.write_table(pa.table({"ts": [DAY, DAY + timedelta(1)]}), good)
    pq.write_table(pa.table({"ts": [DAY, None]}), bad)
    assert footer_span([good], "ts") is not None
    assert footer_span([good, bad], "ts") is None


def test_no_files_have_no_span() -> None:
    assert footer_span([], "ts") is None
