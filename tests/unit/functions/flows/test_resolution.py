import pytest
from hypothesis import given

from penstock.errors import (
    BadFlowError,
    NameTakenError,
    PenstockError,
    Place,
    UnknownFunctionError,
    UnknownOptionError,
)
from penstock.functions import (
    BRANCH,
    Dataflow,
    Registry,
    central,
    convolve,
    fft3,
    fft3_combine,
    fft3_part,
    os_join,
    parallel,
    pcc,
    pipe,
    polarize,
    rr_part,
    s_merge,
    sample,
    stream_function,
    window_split,
)
from penstock.functions.flows.drawing import drawn
from penstock.functions.flows.flow_text import from_text, to_text
from penstock.functions.flows.resolution import flow_of
from penstock.model.functions.flows import Term
from tests.unit.functions.flows.test_templates import flows

REGISTRY = Registry()


@stream_function
def halved(rows):
    return rows / 2


def test_a_flow_is_what_its_text_says() -> None:
    merge = Term("S_Merge", (), (("timeout", 0.1),))
    branches = Term("pcc", (4, Term("rr_part"), Term("fft3"), merge))
    text = Term("pipe", (branches, Term("central", (Term("polarize"),))))
    assert str(text) == ("pipe(pcc(4, rr_part, fft3, S_Merge(timeout => 0.1)), central(polarize))")
    expected = pipe(pcc(4, rr_part, fft3, s_merge(timeout=0.1)), central(polarize))
    assert flow_of(text, REGISTRY) == expected


def test_a_function_alone_is_central() -> None:
    assert flow_of(Term("fft3"), REGISTRY) == central(fft3)
    assert flow_of(Term("sample", (3,)), REGISTRY) == central(sample(3))


def test_lists_and_branch_numbers_can_be_written() -> None:
    kernel = Term("convolve", (Term("array", (0.5, 0.5)),))
    assert flow_of(Term("window_split", (2, kernel)), REGISTRY) == window_split(
        2, convolve((0.5, 0.5))
    )
    branch = Term("parallel", (2, Term("sample", (3,), (("seed", BRANCH),))))
    assert flow_of(branch, REGISTRY) == parallel(2, sample(3, seed=BRANCH))


@pytest.mark.parametrize(
    ("term", "error"),
    [
        (Term("fft4", place=Place(2, 7)), UnknownFunctionError),
        (Term("pcc", (4,), place=Place(2, 7)), BadFlowError),
        (
            Term("pcc", (4, Term("fft3"), Term("fft3"), Term("s_merge")), (), Place(2, 7)),
            BadFlowError,
        ),
        (Term("sample", (), (("nope", 1),), Place(2, 7)), UnknownOptionError),
        (Term("pipe", (3,), (), Place(2, 7)), BadFlowError),
        (Term("array", (3,), (), Place(2, 7)), BadFlowError),
        (Term("pipe", (Term("fft4", place=Place(2, 7)),), (), Place(1, 1)), UnknownFunctionError),
    ],
)
def test_what_cannot_be_a_flow_is_refused_at_its_place(
    term: Term, error: type[PenstockError]
) -> None:
    with pytest.raises(error) as caught:
        flow_of(term, REGISTRY)
    assert caught.value.place == Place(2, 7)
    assert caught.value.hint


def test_a_name_that_is_nearly_right_is_told() -> None:
    with pytest.raises(UnknownFunctionError) as caught:
        flow_of(Term("polarise"), REGISTRY)
    assert "polarize" in caught.value.hint


@given(flows())
def test_a_flow_comes_back_from_its_text(flow: Dataflow) -> None:
    assert from_text(to_text(flow), REGISTRY) == flow


def test_functions_as_parameters_and_lists_come_back() -> None:
    flow = pipe(window_split(2, convolve((1, 2.5))), pcc(2, fft3_part, fft3, os_join(fft3_combine)))
    assert from_text(to_text(flow), REGISTRY) == flow


def test_a_text_that_is_none_is_refused() -> None:
    for text in ("", "{}", '{"arity":1,"nodes":[{}],"outputs":[0]}'):
        with pytest.raises(BadFlowError):
            from_text(text, REGISTRY)


def test_a_flow_of_another_version_is_refused() -> None:
    known = REGISTRY.with_function(halved)
    text = to_text(central(halved))
    assert from_text(text, known) == central(halved)
    newer = known.with_function(stream_function(halved.apply.function, version=2))
    with pytest.raises(BadFlowError, match="version 1"):
        from_text(text, newer)


def test_users_functions_come_and_go() -> None:
    known = REGISTRY.with_function(halved)
    assert known["HALVED"] is halved
    assert halved in list(known)
    assert known.without("Halved").find("halved") is None
    with pytest.raises(NameTakenError):
        known.with_function(stream_function(halved.apply.function, name="fft3"))


def test_a_flow_is_drawn_by_sites() -> None:
    flow = pipe(pcc(2, fft3_part, fft3, os_join(fft3_combine)), polarize)
    assert drawn(flow) == "\n".join(
        [
            "flow: 1 in, 1 out, 5 sites",
            "  site 0  [0] fft3_part 0 of 2 <- in 0",
            "          [1] fft3_part 1 of 2 <- in 0",
            "    site 1  [2] fft3 <- [0]",
            "    site 2  [3] fft3 <- [1]",
            "      site 3  [4] os_join(combine=fft3_combine) <- [2], [3]",
            "        site 4  [5] polarize <- [4] -> out 0",
        ]
    )
