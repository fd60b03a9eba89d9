from hypothesis import given

from tests.e2e.reference.streams import SECOND, SLACK, Flow, disorder, flows, streams, untimed
from tests.e2e.reference.windows import Row


@given(streams())
def test_no_tuple_is_late(rows: list[Row]) -> None:
    assert 20 <= len(rows) <= 60
    assert disorder(rows) <= SLACK * SECOND
    assert [row["id"] for row in rows] == list(range(len(rows)))


@given(flows(0, 30))
def test_the_trains_are_the_stream(flow: Flow) -> None:
    trains = list(flow.trains())
    assert [row for train in trains for row in train] == flow.rows
    assert all(trains)


def test_disorder_is_measured_from_the_latest_time_so_far() -> None:
    assert disorder([{"ts": 5}, {"ts": 9}, {"ts": 6}, {"ts": 4}, {"ts": 10}]) == 5
    assert disorder([]) == 0


@given(flows(1, 5))
def test_a_stream_without_times_is_declared_so(flow: Flow) -> None:
    assert "TIMESTAMP BY ts SLACK INTERVAL 4 SECONDS FROM push" in flow.definition("s")
    assert "ts" not in untimed(flow).definition("s").split("FROM")[0]
