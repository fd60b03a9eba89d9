"""Flows that do not fit are refused when they are made, with a code and a place."""

from collections.abc import Sequence
from typing import Any

import pytest

from penstock.errors import PenstockError
from penstock.functions import (
    Function,
    StreamType,
    central,
    fft3,
    parallel,
    pipe,
    stream_function,
)
from penstock.functions.flows.templates import auto
from penstock.functions.operators.select_call import Selecting
from penstock.model.definitions import DeclaredParameter, FunctionDefinition, Sites
from penstock.model.own_names import readable
from penstock.model.schema import Column, Schema
from penstock.plan.operators import EventTime, Filter, Flow, Operator, Ordered, Project, Scan, key
from penstock.plan.operators.lateness import flows_in
from penstock.runtime.names.flows import FlowBinder, graph_term, reads_of, type_of
from penstock.runtime.names.known_functions import KnownFunctions
from penstock.sql import CreateQuery, flow_of, parse

RADIO = Scan(
    "radio",
    1,
    Schema((Column("ts", "timestamp"), Column("x", "complex vector"), Column("n", "int"))),
    (EventTime("ts"),),
)
PLAIN = Scan("plain", 1, Schema((Column("n", "int"),)), ())


@stream_function(version=3)
def twice(rows: Any, *, by: float = 2.0) -> Any:
    return rows * by


def known() -> KnownFunctions:
    functions = KnownFunctions()
    functions.register(twice)
    for name in ("quiet", "timed", "timeless", "counted"):
        parameters = (DeclaredParameter("most", "INT"),) if name == "quiet" else ()
        functions.write(FunctionDefinition(name, "s", "radio", parameters, "radio", "SELECT 1"))
    return functions


def statement(text: str) -> CreateQuery:
    (made,) = parse(f"CREATE QUERY q AS FLOW {text} OVER s")
    assert isinstance(made, CreateQuery)
    return made


def inline(definition: FunctionDefinition, values: Sequence[Any], items: Operator) -> Operator:
    """Stand in for the binder, which needs Spark: each name has one operator."""
    time = (("ts", "`ts`"),)
    bodies = {
        "quiet": Filter(items, (f"`n` < {values}",)),
        "timed": Project(items, time, Schema((Column("ts", "timestamp"),)), items.times),
        "timeless": Project(items, (("n", "`n`"),), Schema((Column("n", "int"),))),
        "counted": Ordered(items, "time"),
    }
    return bodies[definition.name]


def bound(text: str, over: Scan = RADIO, output: str = "", sites: Sites = "auto") -> Flow:
    (made,) = parse(f"CREATE QUERY q AS FLOW {text} OVER s {output}")
    assert isinstance(made, CreateQuery)
    flow = flow_of(made.select.args["from_"].this)
    assert flow is not None
    operator = FlowBinder(known(), sites).over(flow, over, inline)
    assert isinstance(operator, Flow)
    return operator


def test_a_flow_keeps_the_columns_and_the_time_of_its_stream() -> None:
    flow = bound("pcc(4, fft3_part, fft3, os_join(fft3_combine))")
    assert flow.schema == RADIO.schema
    assert flow.times == (EventTime("ts"),)
    assert flow.stages.degree == 4
    assert flows_in(flow) == (flow,)


def test_a_flow_without_event_time_has_none() -> None:
    assert bound("identity", PLAIN).times == ()


def test_equal_flows_are_one_node_and_others_are_not() -> None:
    one, same = bound("pcc(2, rr_part, twice, s_merge)"), bound("PCC(2,rr_part,TWICE(),s_merge())")
    assert one.graph == same.graph
    others = [
        bound("pcc(3, rr_part, twice, s_merge)"),
        bound("pcc(2, rr_part, twice(3), s_merge)"),
        bound("pcc(2, rr_part, twice, s_merge(1))"),
    ]
    assert len({key(each) for each in (one, *others)}) == 4


def test_a_flow_from_python_is_kept_as_text() -> None:
    made = bound("pcc(2, rr_part, xchannel('x'), s_merge)")
    assert bound(graph_term(made.stages.flow)).graph == made.graph


def test_auto_from_python_is_auto_in_sql() -> None:
    made = bound(graph_term(auto(twice(by=3.0))))
    assert made.written == "auto(twice(by=3.0))"
    assert made.graph == bound("auto(twice(3.0))").graph
    assert reads_of(statement(graph_term(auto(twice))).select, known()) == {"function twice"}
    two = graph_term(pipe(twice, fft3))
    with pytest.raises(PenstockError) as refused:
        bound(f"auto({two})")
    assert refused.value.code == "BAD_FLOW"


@pytest.mark.parametrize("inside", [pipe, central, lambda each: parallel(2, each)])
def test_auto_stands_in_no_other_template(inside: Any) -> None:
    with pytest.raises(PenstockError) as refused:
        inside(auto(fft3))
    assert refused.value.code == "BAD_FLOW"


def test_branches_are_waited_for_as_long_as_the_longest_time_out() -> None:
    assert bound("pcc(2, rr_part, fft3, s_merge(0.5))").patience == 0.5
    assert bound("pcc(2, rr_part, fft3, s_merge)").patience is None


def test_what_a_flow_needs_of_users_is_known() -> None:
    functions = known()
    select = statement("pipe(twice, fft3)").select
    assert reads_of(select, functions) == {"function twice"}
    python = statement(graph_term(bound("twice").stages.flow)).select
    assert reads_of(python, functions) == {"function twice"}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("fft4", "UNKNOWN_FUNCTION"),
        ("pcc(4, rr_part, fft4, s_merge)", "UNKNOWN_FUNCTION"),
        ("pcc(0, rr_part, fft3, s_merge)", "BAD_FLOW"),
        ("pcc('x', rr_part, fft3, s_merge)", "BAD_FLOW"),
        ("pcc(4, rr_part, fft3)", "BAD_FLOW"),
        ("pcc(4, fft3, fft3, s_merge)", "BAD_FLOW"),
        ("pcc(4, rr_part, fft3, fft3)", "BAD_FLOW"),
        ("pcc(4, rr_part, fft3, fft3_combine)", "BAD_FLOW"),
        ("pipe(partition(2, rr_part), parallel(3, fft3))", "BAD_FLOW"),
        ("partition(2, rr_part)", "BAD_FLOW"),
        ("parallel(2, fft3)", "BAD_FLOW"),
        ("fft3(1)", "UNKNOWN_OPTION"),
        ("twice(of => 1)", "UNKNOWN_OPTION"),
        ("twice('x')", "TYPE_MISMATCH"),
        ("twice(#)", "BAD_FLOW"),
        ("xchannel('n')", "TYPE_MISMATCH"),
        ("xchannel('q')", "UNKNOWN_COLUMN"),
        ("graph('{')", "BAD_FLOW"),
    ],
)
def test_what_does_not_fit_is_refused(text: str, code: str) -> None:
    with pytest.raises(PenstockError) as refused:
        bound(text)
    assert refused.value.code == code
    assert refused.value.place is not None


def test_a_stream_without_vectors_has_no_spectrum() -> None:
    with pytest.raises(PenstockError) as refused:
        bound("fft3", PLAIN)
    assert refused.value.code == "TYPE_MISMATCH"


def test_functions_in_sql_stand_inside_branches_and_keep_the_flow_in_the_driver() -> None:
    flow = bound("pcc(3, rr_part, pipe(twice, quiet(#), timed), s_merge)")
    assert flow.schema.names == ("ts",)
    assert flow.sites == "driver"
    assert flow.stages.degree == 3
    statements = [
        operator.statement("items")
        for task in flow.stages.tasks
        for operator in task.program.operators
        if isinstance(operator, Selecting) and operator.name == "quiet"
    ]
    shown = [readable(statement) for statement in statements]
    assert shown == [f"SELECT * FROM items AS i WHERE (`n` < ({each},))" for each in range(3)]
    assert bound("pcc(2, rr_part, quiet(1), s_merge)").graph != (
        bound("pcc(2, rr_part, quiet(2), s_merge)").graph
    )


@pytest.mark.parametrize(
    ("text", "sites", "code"),
    [
        ("pcc(2, rr_part, quiet(1), s_merge)", "workers", "BAD_FLOW"),
        ("pcc(2, rr_part, quiet, s_merge)", "auto", "BAD_FLOW"),
        ("pcc(2, rr_part, quiet('x'), s_merge)", "auto", "TYPE_MISMATCH"),
        ("pcc(2, rr_part, timeless, s_merge)", "auto", "BAD_FLOW"),
        ("pcc(2, rr_part, counted, s_merge)", "auto", "NOT_YET"),
        ("pcc(2, quiet(1), fft3, s_merge)", "auto", "BAD_FLOW"),
        ("auto(timed)", "auto", "BAD_FLOW"),
    ],
)
def test_functions_in_sql_that_do_not_fit_are_refused(text: str, sites: Sites, code: str) -> None:
    with pytest.raises(PenstockError) as refused:
        bound(text, sites=sites)
    assert refused.value.code == code
    assert refused.value.place is not None


def test_an_output_that_is_not_there_is_refused() -> None:
    flow = "pipe(partition(2, rr_part), parallel(2, fft3))"
    assert bound(flow, output="OUTPUT 1").stages.degree == 1
    with pytest.raises(PenstockError) as refused:
        bound(flow, output="OUTPUT 2")
    assert refused.value.code == "BAD_FLOW"
    with pytest.raises(PenstockError):
        bound(flow)


def test_functions_are_found_again_by_where_they_stand() -> None:
    functions = KnownFunctions()
    kept = functions.register(twice)
    assert kept.version == 3
    again = KnownFunctions()
    again.bring_back(kept)
    assert again.registry.find("TWICE") == twice
    with pytest.raises(PenstockError) as refused:
        again.register(twice.__class__("pcc", twice.role, twice.apply, twice.result))
    assert refused.value.code == "NAME_TAKEN"


def test_a_function_that_is_gone_is_told() -> None:
    (made,) = parse("CREATE FUNCTION gone USING 'nowhere.at:all' VERSION 1")
    with pytest.raises(PenstockError) as refused:
        KnownFunctions().bring_back(made.definition)  # type: ignore[attr-defined]
    assert refused.value.code == "UNKNOWN_FUNCTION"


def test_items_are_of_the_type_that_has_their_columns_and_their_order() -> None:
    timed = StreamType("timed", RADIO.schema.columns[:1], "ts")
    radio = StreamType("radio", RADIO.schema.columns[1:], under=timed)
    other = StreamType("other", RADIO.schema.columns)
    assert type_of(RADIO, (timed, other, radio)) is radio
    assert type_of(RADIO, (timed, other)).name == "items"
    needy = Function("needy", twice.role, twice.apply, twice.result, takes=timed)
    functions = known()
    functions.register(needy)
    flow = flow_of(statement("needy").select.args["from_"].this)
    assert flow is not None
    FlowBinder(functions, types=(radio,)).over(flow, RADIO, inline)
    with pytest.raises(PenstockError) as refused:
        FlowBinder(functions).over(flow, RADIO, inline)
    assert refused.value.code == "TYPE_MISMATCH"
