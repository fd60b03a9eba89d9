"""Samples of streams and queries, by a clock that is moved by hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.runtime.quality import samples as samples_module
from penstock.runtime.quality.samples import INTERVAL_SECONDS, SPAN_SECONDS, Sample, Samples
from tests.unit.model.arrow_twin import arrow_without_spark
from tests.unit.model.hall import Hall, chain


@pytest.fixture(scope="module", autouse=True)
def no_spark() -> Iterator[None]:
    with arrow_without_spark():
        yield


@pytest.fixture
def hall(tmp_path: Path) -> Hall:
    hall = Hall(tmp_path / "home")
    hall.add("q", chain("s", "x"))
    return hall


def of(samples: Samples, kind: str) -> list[Sample]:
    return [each for each in samples if each.counters.kind == kind]


def test_a_sample_is_taken_once_an_interval(hall: Hall) -> None:
    samples = Samples(hall.topology)
    for tenth in range(int(INTERVAL_SECONDS * 10) * 3 + 1):
        samples.look(100 + tenth / 10)
    assert [each.at for each in of(samples, "query")] == pytest.approx(
        [100 + INTERVAL_SECONDS * n for n in range(4)]
    )


def test_rates_latencies_and_queues_are_those_since_the_sample_before(hall: Hall) -> None:
    samples = Samples(hall.topology)
    samples.look(hall.clock.now())
    hall.push("s", 1, 2, 3)
    hall.push("s", 4)
    hall.take_in()
    hall.clock.sleep(INTERVAL_SECONDS)
    hall.take_in()
    samples.look(hall.clock.now())  # four rows have come, and wait for the unit
    hall.drain()
    passed = hall.clock.now() - INTERVAL_SECONDS
    samples.look(hall.clock.now())
    streams, queries = of(samples, "stream"), of(samples, "query")
    assert [each.counters.rows_in for each in streams] == [0, 4, 4]
    assert [each.counters.rows_out for each in streams] == [0, 0, 4]
    assert [each.counters.waiting_rows for each in streams] == [0, 4, 0]
    assert [each.in_per_second for each in streams] == [None, 4 / INTERVAL_SECONDS, 0]
    assert [each.out_per_second for each in streams] == [None, 0, 4 / passed]
    assert [each.counters.rows_out for each in queries] == [0, 0, 4]
    assert [each.counters.waiting_rows for each in queries] == [0, 4, 0]
    assert [each.out_per_second for each in queries] == [None, 0, 4 / passed]
    assert queries[1].counters.memory_bytes > 0
    assert queries[1].latency is None
    assert queries[2].latency is not None
    assert 0 < queries[2].latency <= hall.clock.now()


def test_old_samples_go_and_many_are_bounded(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = Samples(hall.topology)
    for n in range(int(SPAN_SECONDS / INTERVAL_SECONDS) * 2):
        samples.look(n * INTERVAL_SECONDS)
    ages = [each.at for each in of(samples, "query")]
    assert len(ages) == int(SPAN_SECONDS / INTERVAL_SECONDS)
    assert ages[-1] - ages[0] < SPAN_SECONDS
    monkeypatch.setattr(samples_module, "MOST_SAMPLES", 7)
    later = ages[-1] + samples_module.interval_for(2) + 1
    samples.look(later)
    assert len(list(samples)) == 6  # whole moments, of a stream and a query each
    assert of(samples, "query")[-1].at == later


def test_the_more_there_is_the_less_often_it_is_sampled() -> None:
    assert samples_module.interval_for(10) == INTERVAL_SECONDS
    many = samples_module.MOST_SAMPLES
    assert samples_module.interval_for(many // 10) * 10 == SPAN_SECONDS


def test_who_is_made_anew_begins_without_rates(hall: Hall) -> None:
    samples = Samples(hall.topology)
    hall.push("s", 1)
    hall.drain()
    samples.look(hall.clock.now())
    hall.drop("q")
    hall.clock.sleep(INTERVAL_SECONDS)
    samples.look(hall.clock.now())
    hall.add("q", chain("s", "x"))
    hall.clock.sleep(INTERVAL_SECONDS)
    samples.look(hall.clock.now())
    first, again = of(samples, "query")
    assert (first.counters.rows_out, again.counters.rows_out) == (1, 0)
    assert again.in_per_second is None


def test_a_clock_that_is_set_back_is_followed(hall: Hall) -> None:
    samples = Samples(hall.topology)
    samples.look(1000.0)
    samples.look(500.0)
    samples.look(500.0 + INTERVAL_SECONDS)
    assert [each.at for each in of(samples, "stream")] == [1000.0, 500.0, 500.0 + INTERVAL_SECONDS]
    assert of(samples, "stream")[1].in_per_second is None
