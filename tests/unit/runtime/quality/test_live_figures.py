from pathlib import Path

import pytest

from penstock.model.trains import END_OF_TIME
from penstock.runtime.quality.live_figures import observe
from tests.unit.cli.fakes import FakeSystem, live_query, source_reader

SECOND = 1_000_000


def test_rates_and_queues_add_up_and_latency_is_that_of_the_slowest_query(tmp_path: Path) -> None:
    system = FakeSystem(tmp_path)
    quick, slow = live_query("quick"), live_query("slow")
    for query, rows, latency, delay in ((quick, 10, 0.2, 0.2), (slow, 20, 2.0, 0.1)):
        query.meter.passed(rows, 999.0)
        query.meter.took(rows, latency, delay, 999.0)
    system.topology.queries = {"quick": quick, "slow": slow}
    one = source_reader("one")
    one.meter.passed(100, 999.0)
    system.topology.source_readers = {"one": one}
    system.topology.buffers.queued = {"a": 3, "b": 4}
    figures = observe(system.topology, system.clock.now())
    assert (figures.rows_in, figures.rows_out, figures.queued) == (100.0, 30.0, 7)
    assert (figures.p50, figures.p99) == (pytest.approx(2.0, 0.03), pytest.approx(2.0, 0.03))
    assert (figures.delay, figures.lag) == (pytest.approx(0.2, 0.03), None)


def test_lag_is_that_of_the_stream_that_is_furthest_behind(tmp_path: Path) -> None:
    system = FakeSystem(tmp_path)
    near, far = source_reader("near"), source_reader("far")
    near.watermark, far.watermark = 999 * SECOND, 990 * SECOND
    system.topology.source_readers = {"near": near, "far": far}
    assert observe(system.topology, system.clock.now()).lag == 10.0


def test_old_data_and_ended_streams_have_no_lag(tmp_path: Path) -> None:
    system = FakeSystem(tmp_path)
    system.clock.sleep(10_000_000)
    old, ended, fresh = source_reader("old"), source_reader("ended"), source_reader("fresh")
    old.watermark, ended.watermark = 5 * SECOND, END_OF_TIME
    system.topology.source_readers = {"old": old, "ended": ended, "fresh": fresh}
    assert observe(system.topology, system.clock.now()).lag is None


def test_a_watermark_in_the_future_is_no_lag(tmp_path: Path) -> None:
    system = FakeSystem(tmp_path)
    ahead = source_reader("ahead")
    ahead.watermark = 2000 * SECOND
    system.topology.source_readers = {"ahead": ahead}
    assert observe(system.topology, system.clock.now()).lag == 0.0
