import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import BadFlowError, PenstockError, TypeMismatchError, UnknownOptionError
from penstock.functions import (
    BRANCH,
    Dataflow,
    Runner,
    central,
    fft3,
    fft3_combine,
    fft3_part,
    hash_part,
    identity,
    os_join,
    parallel,
    partition,
    pcc,
    pipe,
    polarize,
    replicated,
    rr_part,
    s_merge,
    sample,
    sort,
    stream_function,
    window_aggregate,
    window_distribute,
    window_split,
    xmagn,
)
from penstock.functions.flows.flow import BranchShare, FlowInput, beside
from tests.unit.functions.worlds import RADIO, radio, run_all


@stream_function(over="items")
def shifted(items, *, by: int):
    return {"x": [row + by for row in items["x"]]}


@st.composite
def flows(draw: st.DrawFn, depth: int = 3) -> Dataflow:
    """Draw a flow with one input and one output."""
    kind = draw(st.sampled_from(["central", "pcc", "pipe"])) if depth else "central"
    if kind == "central":
        return central(draw(st.sampled_from([identity, fft3])))
    if kind == "pcc":
        return pcc(draw(st.integers(1, 3)), rr_part, draw(flows(depth - 1)), s_merge)
    return pipe(draw(flows(depth - 1)), draw(flows(depth - 1)))


@pytest.mark.parametrize("n", [1, 2, 4, 8])
def test_pcc_takes_n_and_two_sites(n: int) -> None:
    flow = pcc(n, rr_part, fft3, s_merge)
    assert (flow.arity, flow.width, len(flow.sites), len(flow.nodes)) == (1, 1, n + 2, 2 * n + 1)
    assert max(flow.levels) == 2


def test_a_tree_of_four_takes_ten_sites() -> None:
    join = os_join(fft3_combine)
    flow = pcc(2, fft3_part, pcc(2, fft3_part, fft3, join), join)
    assert len(flow.sites) == 10
    assert max(flow.levels) == 4


def test_partition_stands_on_one_site_and_shares_its_input() -> None:
    flow = partition(3, rr_part)
    assert (flow.arity, flow.width, len(flow.sites)) == (1, 3, 1)
    assert [node.inputs for node in flow.nodes] == [(FlowInput(0),)] * 3
    assert [node.share for node in flow.nodes] == [BranchShare(i, 3) for i in range(3)]


def test_parallel_stands_on_a_site_for_each_branch() -> None:
    flow = parallel(3, fft3)
    assert (flow.arity, flow.width, flow.sites) == (3, 3, (0, 1, 2))
    assert [node.inputs for node in flow.nodes] == [
        (FlowInput(0),),
        (FlowInput(1),),
        (FlowInput(2),),
    ]


@given(flows(), flows(), flows())
def test_pipe_is_associative(a: Dataflow, b: Dataflow, c: Dataflow) -> None:
    assert pipe(pipe(a, b), c) == pipe(a, pipe(b, c)) == pipe(a, b, c)


@given(flows(), flows())
def test_pipe_adds_sites_and_levels(a: Dataflow, b: Dataflow) -> None:
    both = pipe(a, b)
    assert (both.arity, both.width) == (a.arity, b.width)
    assert len(both.sites) == len(a.sites) + len(b.sites)
    assert max(both.levels) == max(a.levels) + max(b.levels) + 1


@given(st.integers(1, 4), flows())
def test_parallel_is_copies_side_by_side(n: int, flow: Dataflow) -> None:
    many = parallel(n, flow)
    assert many == beside([flow] * n)
    assert (many.arity, many.width, len(many.sites)) == (n, n, n * len(flow.sites))


@given(st.integers(1, 4), flows())
def test_sites_of_pcc_are_those_of_its_branches_and_two(n: int, flow: Dataflow) -> None:
    assert len(pcc(n, rr_part, flow, s_merge).sites) == n * len(flow.sites) + 2


def test_flows_can_be_used_again() -> None:
    one = central(fft3)
    assert pipe(one, one) == pipe(fft3, fft3)
    assert one == central(fft3)


def test_a_branch_number_is_that_of_the_innermost_template() -> None:
    inner = parallel(2, shifted(by=BRANCH))
    assert [node.call.parameters["by"] for node in inner.nodes] == [0, 1]
    outer = pcc(2, rr_part, pipe(shifted(by=BRANCH), shifted(by=7)), s_merge)
    assert [node.call.parameters.get("by") for node in outer.nodes] == [
        None,
        None,
        0,
        7,
        1,
        7,
        None,
    ]


def test_a_branch_number_deep_inside_is_replaced() -> None:
    @stream_function(over="items", role="combine")
    def weighed(parts, *, weight: int):
        return {"x": [row * weight for row in parts[0]["x"]]}

    flow = parallel(2, os_join(weighed(weight=BRANCH)))
    weights = [node.call.parameters["combine"].parameters["weight"] for node in flow.nodes]
    assert weights == [0, 1]


def test_a_branch_number_without_a_branch_is_refused_when_it_is_to_run() -> None:
    with pytest.raises(BadFlowError, match="no branch around it"):
        Runner(central(shifted(by=BRANCH)), (RADIO,))


def test_a_flow_can_split_a_stream() -> None:
    flow = pipe(partition(2, pipe(shifted(by=BRANCH), identity)), central(s_merge, 2))
    assert len(flow.sites) == 2
    (got,), _ = run_all(flow, radio([1], 2))
    base = radio([1], 2)["x"][0]
    assert [row.tolist() for row in got["x"]] == [base.tolist(), (base + 1).tolist()]


def test_every_output_is_connected() -> None:
    flow = pipe(partition(2, rr_part), parallel(2, shifted(by=BRANCH)))
    (first, second), _ = run_all(flow, radio(range(5), 2))
    assert first.times.tolist() == [0, 2, 4]
    assert second.times.tolist() == [1, 3]


def test_outputs_can_be_replicated() -> None:
    flow = replicated(3, central(fft3))
    assert (flow.width, len(flow.nodes)) == (3, 1)
    outputs, _ = run_all(flow, radio([1, 2], 2))
    assert [each.times.tolist() for each in outputs] == [[1, 2]] * 3
    apart = pipe(flow, parallel(3, identity))
    assert [node.inputs for node in apart.nodes[1:]] == [(0,)] * 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pipe(partition(3, rr_part), parallel(2, fft3)), "has 3 outputs"),
        (lambda: pipe(partition(2, rr_part), fft3), "part 0 of the pipe has 2 outputs"),
        (pipe, "nothing"),
        (lambda: pcc(0, rr_part, fft3, s_merge), "0 branches"),
        (lambda: pcc(True, rr_part, fft3, s_merge), "True branches"),
        (lambda: pcc(2.5, rr_part, fft3, s_merge), "2.5 branches"),
        (lambda: pcc(2, fft3, fft3, s_merge), "cannot split a stream"),
        (lambda: pcc(2, rr_part, rr_part, s_merge), "no branch"),
        (lambda: pcc(2, rr_part, fft3, fft3), "cannot bring the branches"),
        (lambda: pcc(2, rr_part, fft3, central(s_merge, 2)), "not in a flow"),
        (lambda: pcc(2, rr_part, fft3, fft3_combine), "cannot bring the branches"),
        (lambda: pcc(2, rr_part, partition(2, rr_part), s_merge), "1 inputs and 2 outputs"),
        (lambda: partition(2, partition(2, rr_part)), "1 inputs and 2 outputs"),
        (lambda: central(fft3, 2), "takes one stream"),
        (lambda: central(fft3, 0), "0 inputs"),
        (lambda: central(fft3_combine), "matched first"),
        (lambda: central(pcc(2, rr_part, fft3, s_merge), 2), "cannot have 2"),
        (lambda: central(3), "3 is no function"),
        (lambda: pcc(2, "rr_part", fft3, s_merge), "is no function"),
        (lambda: window_split(3, fft3), "cannot be split in 3"),
        (lambda: window_split(2, polarize), "nobody has said"),
        (lambda: window_distribute(2, window_aggregate("sum", 2)), "neighbouring"),
        (lambda: Dataflow((), 1, (0,)), "not nodes"),
        (lambda: Dataflow(central(fft3).nodes, 0, (0,)), "not before it"),
    ],
)
def test_what_does_not_fit_is_refused(make, message: str) -> None:
    with pytest.raises(BadFlowError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (sample, BadFlowError),
        (lambda: sample(2, 3, 4), UnknownOptionError),
        (lambda: sample(2, n=3), UnknownOptionError),
        (lambda: sample(size=3), UnknownOptionError),
        (lambda: sample("two"), TypeMismatchError),
        (lambda: sample(True), TypeMismatchError),
        (lambda: sample(2.5), TypeMismatchError),
        (lambda: sample(None), TypeMismatchError),
        (lambda: os_join(central(fft3)), TypeMismatchError),
        (lambda: hash_part(3), TypeMismatchError),
        (lambda: Runner(central(hash_part("nope")), (RADIO,)), PenstockError),
        (lambda: Runner(partition(2, hash_part("nope")), (RADIO,)), PenstockError),
        (lambda: Runner(central(fft3), (RADIO, RADIO)), BadFlowError),
        (lambda: Runner(central(sort), (RADIO,)), TypeMismatchError),
        (lambda: Runner(central(xmagn(1.0, "ts")), (RADIO,)), TypeMismatchError),
    ],
)
def test_parameters_and_types_that_do_not_fit_are_refused(make, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_a_whole_number_is_a_number() -> None:
    assert xmagn(2).parameters == {"threshold": 2, "column": "x"}
    assert str(xmagn(2)) == "xmagn(threshold=2)"
