from pathlib import Path

from penstock.functions.tuning.choice import FlowDemand, choose
from penstock.functions.tuning.curves import CostCurve
from penstock.functions.tuning.drift import LAST
from penstock.functions.tuning.plans import CENTRAL, PlanLimits
from penstock.functions.tuning.prediction import predict
from penstock.functions.tuning.profile import FunctionProfile
from penstock.functions.tuning.sites import Costs
from penstock.runtime.queries.tuned import Tuned, read_tuned, tuned_of, write_tuned
from penstock.runtime.queries.tuner import Watched, is_due

COSTS = Costs(compute=CostCurve(loglinear=1e-6))


def _tuned() -> Tuned:
    choice = choose(
        lambda plan: predict(plan, COSTS, 1024, 2),
        FlowDemand(1024, 50.0, 2),
        PlanLimits(2),
        try_out=lambda plans: {plan: 0.010 if plan == CENTRAL else 0.006 for plan in plans},
    )
    profile = FunctionProfile("fft3", 1, 1024, 50.0, COSTS)
    return tuned_of(choice, "window_distribute(2, fft3)", profile, (64, 24576.0))


def test_the_table_says_what_was_predicted_and_tried_and_marks_the_plan() -> None:
    head, names, first, second = _tuned().text().splitlines()
    assert head == (
        "runs as window_distribute(2, fft3), chosen with 64 windows of 1,024 elements "
        "at 50.0 a second, on 2 slots"
    )
    assert names.split()[0] == "plan"
    assert first.split() == ["*", "distribute", "2", "5,120", "6,000", "30.0%", "compute", "1"]
    assert second.split() == ["central", "10,240", "10,000", "50.0%", "compute", "0"]


def test_what_is_kept_comes_back_and_what_makes_no_sense_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "profiles.json"
    assert read_tuned(path) == {}
    write_tuned(path, {"a": _tuned()})
    assert read_tuned(path) == {"a": _tuned()}
    for broken in ("{", '{"a": 1}', '{"a": {"lines": []}}'):
        path.write_text(broken)
        assert read_tuned(path) == {}


def test_a_flow_is_seen_by_what_came_since_the_last_look() -> None:
    watched = Watched()
    for windows, size, now in ((10, 1000, 1.0), (10, 1000, 2.0), (30, 5000, 4.0), (5, 500, 5.0)):
        watched.see(windows, size, now)
    assert watched.sizes == [200.0, 100.0]  # the last one counts from the start again
    assert watched.rates == [10.0, 5.0]


def test_a_flow_is_measured_once_there_are_windows_and_again_when_it_drifts() -> None:
    assert not is_due(None, Watched(windows=7, rates=[1.0]))
    assert not is_due(None, Watched(windows=8))
    assert is_due(None, Watched(windows=8, rates=[1.0]))
    tuned = _tuned()
    usual = Watched(sizes=[24576.0] * LAST, rates=[30.0, 90.0, 50.0] * 5)
    assert not is_due(tuned, usual)
    assert is_due(tuned, Watched(sizes=[49152.0] * LAST, rates=usual.rates))
    assert is_due(tuned, Watched(sizes=usual.sizes, rates=[120.0] * LAST))
