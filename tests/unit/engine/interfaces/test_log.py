import errno
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.engine.interfaces import log as log_module
from penstock.engine.interfaces.log import Log
from penstock.errors import DiskFullError, SourceError

SCHEMA = pa.schema([("id", pa.string()), ("mph", pa.int32())])


def batch(*numbers: int) -> pa.RecordBatch:
    return pa.record_batch([[f"car{n}" for n in numbers], pa.array(numbers, pa.int32())], SCHEMA)


def opened(home: Path) -> Log:
    home.mkdir(exist_ok=True)
    return Log(home, SCHEMA, sync=False)


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


def test_any_wrong_byte_in_the_last_record_is_noticed(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append([batch(1, 2)], 0.0)
    (last,) = log.append([batch(3)], 0.0)
    log.close()
    whole = tail(tmp_path).read_bytes()
    for place in range(last.first, last.last):
        damaged = bytearray(whole)
        damaged[place] ^= 0x55
        tail(tmp_path).write_bytes(damaged)
        mended = opened(tmp_path)
        assert held(mended) == [[1, 2]]
        mended.close()


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


def test_damage_before_the_last_segment_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "SEGMENT_BYTES", 1)
    log = opened(tmp_path)
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
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_module, "SEGMENT_BYTES", 900)
        log, count = opened(home), 0
        expected: list[tuple[tuple[int, int], list[int]]] = []
        taken = (-1, 0)
        for action in actions:
            if action == "restart":
                log.close()
                log = opened(home)
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


def test_forgetting_removes_whole_segments_and_keeps_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_module, "SEGMENT_BYTES", 1)
    log = opened(tmp_path)
    spans = [log.append([batch(n)], 0.0)[0] for n in range(4)]
    assert len(list(tmp_path.glob("*.log"))) == 4
    log.forget(spans[1].segment, spans[1].last)
    assert len(list(tmp_path.glob("*.log"))) == 2
    log.forget(spans[3].segment, spans[3].last)
    assert len(list(tmp_path.glob("*.log"))) == 1
    assert log.rows == 4
    assert opened(tmp_path).rows == 4


def test_places_that_were_lost_with_the_power_are_not_given_away_again(tmp_path: Path) -> None:
    log = opened(tmp_path)
    log.append([batch(1)], 0.0)
    (lost,) = log.append([batch(2)], 0.0)
    log.close()
    os.truncate(tail(tmp_path), lost.first)
    mended = opened(tmp_path)
    assert held(mended, lost.segment, lost.last) == []
    (new,) = mended.append([batch(3)], 0.0)
    assert new.segment > lost.segment
    mended.close()
    assert held(opened(tmp_path), lost.segment, lost.last) == [[3]]


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
    monkeypatch.setattr(log_module, "SEGMENT_BYTES", 1)
    log = opened(tmp_path)
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
