import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.errors import BadOptionError
from penstock.plan.operators import key
from penstock.plan.operators.graph import Graph
from penstock.schedule import STRATEGIES, make_strategy
from penstock.schedule.batching import FixedLength
from penstock.schedule.costs.observation import Observation, OperatorFigures
from penstock.sim import Arrival, Machine, Workload, simulate
from penstock.sim.workloads.arrivals import poisson
from penstock.sim.workloads.random_queries import QuerySet
from penstock.sim.workloads.step import SimulatedOperator, stream
from tests.examples import examples
from tests.unit.sim.worlds import lines, some_lines

ONE_BY_ONE = FixedLength(1)
SMALL = QuerySet(queries=(4, 6), operators=(8, 12))


def small(seed: int, load: float = 0.7) -> Workload:
    return SMALL.draw(seed, lambda n: poisson(40, 5, seed * 10 + n)).at_load(load)


def test_a_tuples_latency_is_its_waiting_and_its_work() -> None:
    workload = lines(([(1.0, 0.5), (2.0, 1.0)], [(0.0, 1), (1.0, 1)]))
    outcome = simulate(workload, make_strategy("fifo"), Machine(batching=ONE_BY_ONE))
    assert outcome.total_latency == pytest.approx(2.0 + (4.0 - 1.0))
    assert outcome.max_latency == pytest.approx(3.0)
    assert outcome.busy_seconds == outcome.seconds == pytest.approx(4.0)
    assert outcome.peak_bytes == pytest.approx(2.0)
    assert outcome.mean_bytes == pytest.approx((2.0 + 2.0 + 1.0) / 4.0)


def test_slots_work_at_the_same_time_and_a_unit_in_one_of_them() -> None:
    two = lines(([(1.0, 1.0)], [(0.0, 2)]), ([(1.0, 1.0)], [(0.0, 2)]))
    assert simulate(two, make_strategy("fifo"), Machine(slots=2)).seconds == pytest.approx(2.0)
    one = lines(([(1.0, 1.0)], [(0.0, 1), (0.0, 1)]))
    machine = Machine(slots=2, batching=ONE_BY_ONE)
    assert simulate(one, make_strategy("fifo"), machine).seconds == pytest.approx(2.0)


def test_overheads_are_charged() -> None:
    workload = lines(([(0.5, 1.0)], [(0.0, 1), (0.0, 1)]), ([(1.0, 1.0)], [(0.0, 1)]))
    machine = Machine(
        switch_seconds=0.5, decision_seconds=0.1, ready_seconds=0.01, batching=ONE_BY_ONE
    )
    outcome = simulate(workload, make_strategy("pcs"), machine)
    assert outcome.decisions == 3
    assert outcome.switches == 2
    assert outcome.overhead_seconds == pytest.approx(2 * 0.5 + 3 * 0.1 + 0.01 * (2 + 2 + 1))
    assert outcome.seconds == pytest.approx(2.0 + outcome.overhead_seconds)


def test_a_shared_train_is_in_memory_once_until_its_slowest_reader_has_passed() -> None:
    source = stream("s")
    roots = {f"q{n}": SimulatedOperator(f"o{n}", (source,)) for n in range(3)}
    figures = {key(root): OperatorFigures.declared(1.0, 1.0, 1.0) for root in roots.values()}
    figures[key(source)] = OperatorFigures.declared(0.0, 1.0, 1.0)
    workload = Workload(Graph(roots), Observation(figures), {key(source): [Arrival(10, 0.0, 0.0)]})
    outcome = simulate(workload, make_strategy("fifo"))
    assert outcome.peak_bytes == 10
    assert outcome.mean_bytes == pytest.approx(10)


def test_results_after_their_deadline_are_worth_nothing() -> None:
    workload = lines(([(1.0, 1.0)], [(0.0, 1), (0.0, 1), (0.0, 1), (0.0, 1)]), validity=2.5)
    outcome = simulate(workload, make_strategy("fifo"), Machine(batching=ONE_BY_ONE))
    assert outcome.utility == pytest.approx(0.5)
    assert outcome.on_time == {"q0": pytest.approx(0.5)}


def test_what_is_hopeless_is_given_up_where_that_is_allowed() -> None:
    workload = lines(([(1.0, 1.0)], [(0.0, 1)] * 4), validity=2.5)
    strategy = make_strategy("optprofit", handling="profit_dominant")
    outcome = simulate(workload, strategy, Machine(batching=ONE_BY_ONE, may_discard=True))
    assert outcome.discarded == 2
    assert outcome.seconds == pytest.approx(2.0)
    strategy = make_strategy("optprofit", handling="profit_dominant")
    outcome = simulate(workload, strategy, Machine(batching=ONE_BY_ONE))
    assert (outcome.discarded, outcome.finished) == (0, 4)


def test_a_unit_that_was_interrupted_goes_on_where_it_was() -> None:
    workload = lines(([(4.0, 1.0)], [(0.0, 1)]), ([(1.0, 1.0)], [(1.0, 1)]))
    machine = Machine(preemptive=True, batching=ONE_BY_ONE)
    outcome = simulate(workload, make_strategy("pcs"), machine)
    assert outcome.total_latency == pytest.approx(1.0 + 5.0)
    assert outcome.seconds == pytest.approx(5.0)
    outcome = simulate(workload, make_strategy("pcs"), Machine(batching=ONE_BY_ONE))
    assert outcome.total_latency == pytest.approx(4.0 + 4.0)


def test_last_ditch_comes_when_the_last_moment_does() -> None:
    workload = lines(
        ([(6.0, 1.0)], [(0.0, 1)]),
        ([(1.0, 1.0)], [(0.5, 1)]),
        weights=[6.0, 0.9],  # densities 1 and 0.9
        validity=4.0,
    )
    workload = Workload(
        workload.graph,
        workload.truth,
        workload.arrivals,
        dict(zip(workload.arrivals, (9.0, 4.0), strict=True)),
    )
    machine = Machine(preemptive=True, may_discard=True, batching=ONE_BY_ONE)
    for u, expected in ((0.3, 1.0), (0.65, 6.0 / 6.9)):
        strategy = make_strategy("basic", handling="profit_dominant", u=u)
        outcome = simulate(workload, strategy, machine, believed=workload.truth)
        assert outcome.utility == pytest.approx(expected)


@pytest.mark.parametrize("name", sorted(STRATEGIES))
@given(seed=st.integers(0, 50))
@example(seed=10)  # a join that reads one stream on two ways
@settings(deadline=None, max_examples=3)
def test_under_every_strategy_every_tuple_goes_all_its_ways(name: str, seed: int) -> None:
    workload = small(seed)
    outcome = simulate(workload, make_strategy(name))
    reference = simulate(workload, make_strategy("round_robin"))
    assert outcome.finished == pytest.approx(reference.finished)
    assert outcome.busy_seconds == pytest.approx(reference.busy_seconds)
    assert 0 <= outcome.utility <= 1 + 1e-9


@pytest.mark.parametrize("name", sorted(STRATEGIES))
def test_the_same_run_twice_is_the_same(name: str) -> None:
    machine = Machine(preemptive=True, may_discard=True)
    first, second = (simulate(small(3, 1.3), make_strategy(name), machine) for _ in range(2))
    assert first == second


@given(some_lines())
@settings(deadline=None, max_examples=examples(20))
def test_preemption_loses_no_work(workload: Workload) -> None:
    plain = simulate(workload, make_strategy("pcs"))
    machine = Machine(preemptive=True)
    stopped = simulate(workload, make_strategy("pcs"), machine)
    assert stopped.busy_seconds == pytest.approx(plain.busy_seconds)
    assert stopped.finished == plain.finished
    assert stopped.seconds == pytest.approx(plain.seconds)


def test_load_is_set() -> None:
    assert small(1, 0.4).load() == pytest.approx(0.4)


@given(st.integers(0, 200))
@settings(deadline=None, max_examples=examples(20))
def test_random_queries_keep_the_thesis_ranges(seed: int) -> None:
    workload = QuerySet().draw(seed, lambda n: poisson(5, 5, n))
    streams = {key(scan) for scan in workload.graph.scans()}
    assert 20 <= len(workload.graph.queries) <= 28
    assert 32 <= len(workload.graph.nodes().keys() - streams) <= 48
    assert all(1 <= each.weight <= 10 for each in workload.truth.queries.values())
    assert all(4 <= each <= 8 for each in workload.validity.values())


def test_machines_and_query_sets_that_cannot_be_are_refused() -> None:
    for make in (
        lambda: Machine(slots=0),
        lambda: Machine(switch_seconds=-1.0),
        lambda: QuerySet(queries=(5, 9), operators=(8, 12)),
    ):
        with pytest.raises(BadOptionError):
            make()


@pytest.mark.parametrize("name", ["pcs", "basic"])
def test_what_is_filtered_out_was_not_late(name: str) -> None:
    workload = lines(([(1.0, 0.0), (1.0, 1.0)], [(0.0, 1), (0.0, 1)]), validity=5.0)
    outcome = simulate(workload, make_strategy(name), Machine(batching=ONE_BY_ONE))
    assert outcome.utility == 1.0
    assert outcome.busy_seconds == pytest.approx(2.0)
