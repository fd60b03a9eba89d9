"""The suite of many queries: a handful in both systems, whose rows must be equal."""

from pathlib import Path

import pytest

from benchmarks.many.scenarios import TINY, Scenario
from benchmarks.many.systems import (
    Penstock,
    StructuredStreaming,
    penstock_child,
    streaming_child,
)
from benchmarks.many.tables import rate_row, rates, starts
from benchmarks.many.throughput import Bench
from tests.examples import NIGHTLY

QUERIES = 6  # the first six mixed queries have every form


@NIGHTLY  # it tries the benchmark; other tests compare answers with Spark's
@pytest.mark.spark
@pytest.mark.timeout(3600)  # two Sparks of their own, beside the tests' own
def test_a_handful_of_mixed_queries_give_the_same_rows_in_both_systems(tmp_path: Path) -> None:
    with (
        penstock_child(tmp_path / "penstock.log") as ours,
        streaming_child(tmp_path / "streaming.log") as theirs,
    ):
        peer = StructuredStreaming(theirs)
        bench = Bench([Penstock(ours), peer], peer, tmp_path, repetitions=1)
        scenario = Scenario("mixed", QUERIES, TINY)
        found = bench.measure(scenario)  # raises where rows differ
        started = bench.starts(scenario)  # so does this
    assert [each.cannot for each in found] == ["", ""]
    assert all(each.rate and each.rate > 0 for each in found)
    assert rate_row(scenario, found)[0] == "6 mixed"
    assert rates([(scenario, found)], ["a note"]).rows
    assert all(len(seconds) == 1 and seconds[0] > 0 for seconds in started.values())
    assert [row[2] for row in starts([(scenario, started)]).rows] == [each.system for each in found]
