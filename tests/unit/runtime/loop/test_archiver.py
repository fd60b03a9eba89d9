"""Archived streams in a topology that dies: every tuple is kept once, whoever else reads."""

import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engine.trains.rows import read_parquet
from penstock.plan.operators import key
from penstock.runtime.sources.archive import Archive, covers
from tests.examples import examples
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import SCHEMA, DeathError, Hall, chain, scan

DAY = {"archive_for": timedelta(days=1)}


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    return Hall(tmp_path / "home", clauses=DAY)


def archive_of(hall: Hall) -> Archive:
    return hall.topology.archives[key(scan("s"))]


def archived(hall: Hall) -> list[int]:
    paths = [piece.path for piece in archive_of(hall).pieces()]
    return list(read_parquet(paths, SCHEMA)["n"].to_pylist())


def seen_once(hall: Hall) -> list[int]:
    """Return what a one-time SELECT sees: the archive, and the buffer's other trains."""
    buffer, pieces = hall.topology.buffers.open(key(scan("s")), SCHEMA), archive_of(hall).pieces()
    rest = buffer.to_table(without=lambda number: covers(pieces, number))
    return archived(hall) + rest["n"].to_pylist()


def test_a_stream_that_is_archived_is_read_though_no_query_reads_it(hall: Hall) -> None:
    hall.push("s", 1, 2)
    hall.push("s", 3)
    hall.end("s")
    hall.take_in()
    assert not hall.topology.is_drained()
    hall.drain()
    assert hall.topology.is_drained()
    assert archived(hall) == [1, 2, 3]


def test_the_archive_stays_when_queries_come_and_go(hall: Hall) -> None:
    hall.add("a", chain("s", "x"))
    hall.push("s", 1)
    hall.drain()
    hall.drop("a")
    hall.push("s", 2)
    hall.drain()
    assert (hall.delivered("a"), archived(hall)) == ([1], [1, 2])


STEPS = st.lists(
    st.sampled_from(
        ["push", "take_in", "put_away", "turn", "deliver", "checkpoint", "die", "before", "after"]
    ),
    max_size=30,
)


@given(STEPS, st.integers(2, 4))
@settings(deadline=None, max_examples=examples(80))
def test_every_tuple_is_there_once_whatever_died_when(steps: list[str], together: int) -> None:
    with tempfile.TemporaryDirectory() as home:
        hall = Hall(Path(home) / "home", clauses=DAY, merge_files=together)
        hall.add("a", chain("s", "x"))
        pushed = 0
        for step in steps:
            hall.clock.sleep(2)
            if step == "push":
                hall.push("s", pushed, pushed + 1)
                pushed += 2
            elif step in ("before", "after"):
                hall.pool.dies = step
                try:
                    hall.put_away()
                except DeathError:
                    hall.die()
                hall.pool.dies = ""
            else:
                getattr(hall, step)()
            seen = seen_once(hall)
            assert seen == sorted(set(seen))
        hall.drain()
        assert seen_once(hall) == archived(hall) == list(range(pushed))
        assert hall.delivered("a") == list(range(pushed))


def test_an_archive_that_cannot_be_written_is_tried_again_and_loses_nothing(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    hall.push("s", 1)
    hall.take_in()
    archive = archive_of(hall)

    def fail(*_: object) -> None:
        raise OSError("no")

    with monkeypatch.context() as patch:
        patch.setattr(archive, "_put", fail)
        hall.put_away()
        assert (archive.cause, archived(hall)) == ("OSError: no", [])
        hall.put_away()
        assert archive.failures == 1  # not before some time has passed
    hall.drain()
    assert (archive.cause, archived(hall)) == ("", [1])
