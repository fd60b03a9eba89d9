import errno
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.engine.interfaces.pushed.push_log import SEGMENT_BYTES, Log
from penstock.errors import DiskFullError, SourceError
from tests.examples import examples

SCHEMA = pa.schema([("id", pa.string()), ("mph", pa.int32())])


def batch(*numbers: int) -> pa.RecordBatch:
    return pa.record_batch([[f"car{n}" for n in numbers], pa.array(numbers, pa.int32())], SCHEMA)


def opened(home: Path, segment_bytes: int = SEGMENT_BYTES) -> Log:
    home.mkdir(exist_ok=True)
    return Log(home, SCHEMA, sync=False, segment_bytes=segment_bytes)


def held(log: Log, segment: int = -1, place: int = 0) -> list[list[int]]:
    """Return the numbers of every record after a place."""
    return [
        one["mph"].to_pylist()
        for span in log.after(segment, place)
        for one in log.read(span.segment, span.first, span.last)
    ]


def tail(home: Path) -> Path:
    return max(home.glob("*.log"))


def test_what_was_appended_is_there_after_a_restart(tmp_path: Path) -> None:
    log = opened(tmp_path)
    spans = log.append([batch(1, 2), batch(3)], 7.5)
    assert log.rows == 3
    log.close()
    again = opened(tmp_path)
    assert list(again.after(-1, 0)) == spans
    assert held(again) == [[1, 2], [3]]
    assert again.rows == 3
    assert held(again, spans[0].segment, spans[0].last) == [[3]]


def test_a_tail_torn_at_any_byte_is_cut_off_and_the_rest_is_whole(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append([batch(1, 2)], 0.0)
    (last,) = log.append([batch(3)], 0.0)
    log.close()
    whole = tail(tmp_path).read_bytes()
    for size in range(last.first, last.last):
        tail(tmp_path).write_bytes(whole[:size])
        mended = opened(tmp_path)
        assert held(mended) == [[1, 2]]
        mended.append([batch(4)], 0.0)
        assert held(mended) == [[1, 2], [4]]
        assert mended.rows == 3
        mended.close()


def test_any_wrong_byte_in_any_record_holds_the_log_and_changes_nothing(tmp_path: Path) -> None:
    log = opened(tmp_path)
    (first,) = log.append([batch(1, 2)], 0.0)
    log.append([batch(3)], 0.0)
    log.end()
    log.close()
    whole = tail(tmp_path).read_bytes()
    for place in range(first.first, len(whole)):
        for flip in (0x01, 0x55, 0x80, 0xFF):
            damaged = bytearray(whole)
            damaged[place] ^= flip
            tail(tmp_path).write_bytes(damaged)
            with pytest.raises(SourceError):
                opened(tmp_path)
            assert tail(tmp_path).read_bytes() == damaged
            assert list(tmp_path.iterdir()) == [tail(tmp_path)]


def test_a_wrong_byte_in_the_header_is_noticed(tmp_path: Path) -> None:
    log = opened(tmp_path)
    (first,) = log.append([batch(1)], 0.0)
    log.close()
    whole = tail(tmp_path).read_bytes()
    for place in range(first.first):
        damaged = bytearray(whole)
        damaged[place] ^= 0x10
        tail(tmp_path).write_bytes(damaged)
        with pytest.raises(SourceError):
            opened(tmp_path)


records = st.lists(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=9), min_size=1, max_size=6)


@settings(max_examples=examples(60))
@given(
    records=records,
    cut=st.floats(0, 1),
    read=st.integers(0, 6),
    flips=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 255)), max_size=3),
)
def test_a_damaged_log_is_right_or_an_error_and_never_less_than_was_read(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[list[int]],
    cut: float,
    read: int,
    flips: list[tuple[float, int]],
) -> None:
    home = tmp_path_factory.mktemp("log")
    log = opened(home)
    spans = [log.append([batch(0, *numbers)], 0.0)[0] for numbers in records]
    log.close()
    taken = spans[min(read, len(spans)) - 1] if read else None
    place = (-1, 0) if taken is None else (taken.segment, taken.last)
    damaged = bytearray(tail(home).read_bytes())
    damaged = damaged[: spans[0].first + round(cut * (len(damaged) - spans[0].first))]
    for where, flip in flips:
        damaged[min(int(where * len(damaged)), len(damaged) - 1)] ^= flip
    tail(home).write_bytes(damaged)
    try:
        again = Log(home, SCHEMA, sync=False, read=place)
    except SourceError:
        assert tail(home).read_bytes() == damaged
        return
    found = held(again)
    assert found == [[0, *numbers] for numbers in records[: len(found)]]
    assert len(found) >= min(read, len(records))
    lost = len(damaged) - tail(home).stat().st_size
    assert bool(again.notice) == (lost > 0)
    assert sum(path.stat().st_size for path in home.glob("*.torn-*")) == lost
    again.close()


def test_a_log_that_is_shorter_than_what_was_read_is_damaged(tmp_path: Path) -> None:
    log = opened(tmp_path)
    (first,) = log.append([batch(1)], 0.0)
    (last,) = log.append([batch(2)], 0.0)
    log.close()
    whole = tail(tmp_path).read_bytes()
    for size in range(last.last):
        tail(tmp_path).write_bytes(whole[:size])
        with pytest.raises(SourceError):
            Log(tmp_path, SCHEMA, sync=False, read=(last.segment, last.last))
        assert tail(tmp_path).read_bytes() == whole[:size]
    tail(tmp_path).unlink()
    with pytest.raises(SourceError):
        Log(tmp_path, SCHEMA, sync=False, read=(first.segment, first.last))


def test_a_segment_that_is_missing_or_shortened_between_others_is_noticed(tmp_path: Path) -> None:
    log = opened(tmp_path, segment_bytes=1)
    spans = [log.append([batch(n, n)], 0.0)[0] for n in range(3)]
    for span in spans[:2]:
        path = tmp_path / f"{span.segment:020}.log"
        whole = path.read_bytes()
        path.write_bytes(whole[: span.first])
        with pytest.raises(SourceError):
            held(log)
        path.unlink()
        with pytest.raises(SourceError):
            held(log)
        path.write_bytes(whole)
    assert held(log) == [[0, 0], [1, 1], [2, 2]]


def test_a_log_torn_while_it_was_made_begins_anew(tmp_path: Path) -> None:
    opened(tmp_path).close()
    whole = tail(tmp_path).read_bytes()
    for size in range(len(whole)):
        tail(tmp_path).write_bytes(whole[:size])
        log = opened(tmp_path)
        log.append([batch(size)], 0.0)
        assert held(log) == [[size]]
        log.close()


def test_a_log_of_other_columns_is_refused(tmp_path: Path) -> None:
    opened(tmp_path).close()
    with pytest.raises(SourceError) as raised:
        Log(tmp_path, pa.schema([("other", pa.binary())] * 9), sync=False)
    assert raised.value.code == "SOURCE_FAILED"


def test_damage_before_the_last_segment_is_an_error(tmp_path: Path) -> None:
    log = opened(tmp_path, segment_bytes=1)
    (first,) = log.append([batch(1)], 0.0)
    log.append([batch(2)], 0.0)
    path = min(path for path in tmp_path.glob("*.log") if path.stat().st_size >= first.last)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(SourceError):
        held(log)
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(SourceError):
        held(log)


actions = st.lists(st.integers(0, 4) | st.sampled_from(["restart", "forget"]), max_size=25)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None
)
@given(actions=actions)
def test_a_log_is_a_list_whatever_its_segments(
    tmp_path_factory: pytest.TempPathFactory, actions: list[int | str]
) -> None:
    home = tmp_path_factory.mktemp("log")
    log, count = opened(home, 900), 0
    expected: list[tuple[tuple[int, int], list[int]]] = []
    taken = (-1, 0)
    for action in actions:
        if action == "restart":
            log.close()
            log = opened(home, 900)
        elif action == "forget" and expected:
            taken, _ = expected.pop(0)
            log.forget(*taken)
        elif isinstance(action, int):
            numbers = list(range(count, count + action + 1))
            count += len(numbers)
            (span,) = log.append([batch(*numbers)], 0.0)
            expected.append(((span.segment, span.last), numbers))
        assert held(log, *taken) == [numbers for _, numbers in expected]
        assert log.rows == count
    log.close()


def test_forgetting_removes_whole_segments_and_keeps_the_last(tmp_path: Path) -> None:
    log = opened(tmp_path, segment_bytes=1)
    spans = [log.append([batch(n)], 0.0)[0] for n in range(4)]
    assert len(list(tmp_path.glob("*.log"))) == 4
    log.forget(spans[1].segment, spans[1].last)
    assert len(list(tmp_path.glob("*.log"))) == 2
    log.forget(spans[3].segment, spans[3].last)
    assert len(list(tmp_path.glob("*.log"))) == 1
    assert log.rows == 4
    assert opened(tmp_path).rows == 4


def test_the_end_is_kept(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append([batch(1)], 0.0)
    log.end()
    log.end()
    log.close()
    again = opened(tmp_path)
    assert again.ended
    assert held(again) == [[1]]
    assert again.rows == 1


@pytest.mark.parametrize("written", [0, 1, 30])
def test_a_full_disk_leaves_the_log_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    log = opened(tmp_path)
    log.append([batch(1)], 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full_after(written, os.write))
        with pytest.raises(DiskFullError) as raised:
            log.append([batch(2)], 0.0)
    assert raised.value.code == "DISK_FULL"
    assert held(log) == [[1]]
    assert log.rows == 1
    log.append([batch(3)], 0.0)
    log.close()
    assert held(opened(tmp_path)) == [[1], [3]]


def test_a_disk_that_fills_while_a_segment_begins_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = opened(tmp_path, segment_bytes=1)
    log.append([batch(1)], 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full_after(10, os.write))
        with pytest.raises(DiskFullError):
            log.append([batch(2)], 0.0)
    log.append([batch(3)], 0.0)
    assert held(log) == [[1], [3]]


def full_after(room: int, write: Callable[[int, bytes], int]) -> Callable[[int, bytes], int]:
    """Return a write that has room for so many bytes."""

    def limited(handle: int, data: bytes) -> int:
        nonlocal room
        if room == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        done = write(handle, bytes(data[:room]))
        room -= done
        return done

    return limited


@given(records=st.lists(st.tuples(st.integers(0, 30), st.integers(1, 5)), min_size=1, max_size=6))
def test_records_keep_how_deep_in_a_cascade_they_are(
    records: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("log")
    log = opened(home)
    for depth, count in records:
        log.append([batch(*range(count))], 1.0, depth)
    log.close()
    again = opened(home)
    assert [(span.depth, span.rows) for span in again.after(-1, 0)] == records
    assert again.rows == sum(count for _, count in records)
    again.end()
    again.close()
    ended = opened(home)
    assert ended.ended
    ended.close()
