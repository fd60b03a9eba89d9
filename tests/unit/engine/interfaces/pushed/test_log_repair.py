from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.interfaces.pushed.log_repair import faults, mend
from penstock.engine.interfaces.pushed.push_log import BEGINNING, Log, Place, Span
from penstock.errors import SourceError
from tests.examples import examples

SCHEMA = pa.schema([("n", pa.int32())])


def made(home: Path, records: list[list[int]], segment_bytes: int = 1 << 20) -> list[Span]:
    home.mkdir(exist_ok=True)
    log = Log(home, SCHEMA, sync=False, segment_bytes=segment_bytes)
    batches = [pa.record_batch([pa.array(each, pa.int32())], SCHEMA) for each in records]
    spans = [log.append([batch], 0.0)[0] for batch in batches]
    log.close()
    return spans


def mended(home: Path, places: set[Place]) -> Log:
    """Mend all that can be, and open the log."""
    for _ in range(5):
        left = [fault for fault in faults(home, places) if fault.can_be_mended]
        if not left:
            break
        mend(left[0], places)
    return Log(home, SCHEMA, sync=False, read=max(places, default=BEGINNING))


def rows(log: Log, span: Span) -> list[int]:
    found = log.read(span.segment, span.first, span.last)
    return [n for batch in found for n in batch["n"].to_pylist()]


@settings(max_examples=examples(80))
@given(
    records=st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=4), min_size=1, max_size=5),
    taken=st.integers(0, 5),
    size=st.sampled_from([1, 700, 1 << 20]),
    data=st.data(),
)
def test_a_mended_log_opens_and_gives_every_whole_record_at_its_place(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[list[int]],
    taken: int,
    size: int,
    data: st.DataObject,
) -> None:
    home = tmp_path_factory.mktemp("log")
    spans = made(home, records, size)
    read = spans[:taken]
    places = {(s.segment, byte) for s in read for byte in (s.first, s.last)}
    hurt = data.draw(st.sampled_from(spans))
    path = home / f"{hurt.segment:020}.log"
    whole = path.read_bytes()
    place = data.draw(st.integers(hurt.first, hurt.last - 1))
    path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x5A]) + whole[place + 1 :])
    assert faults(home, places)
    log = mended(home, places)
    assert faults(home, places) == []
    for span, numbers in zip(spans, records, strict=True):
        if span != hurt:
            assert rows(log, span) == numbers
        elif span in read:
            assert rows(log, span) == []
    waiting = list(log.after(*max(places, default=BEGINNING)))
    assert waiting == [span for span in spans[taken:] if span != hurt]
    log.close()
    assert any(other.read_bytes()[place] != whole[place] for other in home.glob("*.damaged-*"))


@given(taken=st.integers(1, 4), cut=st.floats(0, 1))
def test_a_shortened_log_goes_on_behind_what_was_read(
    tmp_path_factory: pytest.TempPathFactory, taken: int, cut: float
) -> None:
    home = tmp_path_factory.mktemp("log")
    spans = made(home, [[1], [2, 3], [4], [5]])
    places = {(span.segment, span.last) for span in spans[:taken]}
    (path,) = home.glob("*.log")
    size = spans[0].first + round(cut * (spans[taken - 1].last - spans[0].first - 1))
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(SourceError):
        Log(home, SCHEMA, sync=False, read=max(places))
    log = mended(home, places)
    assert list(log.after(*max(places))) == []
    (new,) = log.append([pa.record_batch([pa.array([9], pa.int32())], SCHEMA)], 0.0)
    assert new.first == spans[taken - 1].last
    assert rows(log, new) == [9]
    log.close()


def test_missing_segments_are_made_anew_where_another_has_the_header(tmp_path: Path) -> None:
    spans = made(tmp_path, [[1], [2], [3]], segment_bytes=1)
    for gone in (spans[1], spans[0]):
        (tmp_path / f"{gone.segment:020}.log").unlink()
    log = mended(tmp_path, set())
    assert [rows(log, span) for span in log.after(-1, 0)] == [[3]]
    log.close()


def test_a_log_of_which_nothing_is_left_cannot_be_mended(tmp_path: Path) -> None:
    (span,) = made(tmp_path, [[1]])
    next(tmp_path.glob("*.log")).unlink()
    for home in (tmp_path, tmp_path / "gone"):
        (fault,) = faults(home, {(span.segment, span.last)})
        assert not fault.can_be_mended


def test_a_whole_log_has_no_faults(tmp_path: Path) -> None:
    spans = made(tmp_path, [[1], [2], [3]], segment_bytes=1)
    assert faults(tmp_path, {(span.segment, span.last) for span in spans}) == []
    assert faults(tmp_path, set()) == []
