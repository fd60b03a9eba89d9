import pytest

from penstock.errors import BadQueryError
from penstock.model.own_names import own, readable
from penstock.model.schema import quoted
from penstock.plan.operators import EventTime, Filter, Operator, Project, WindowAggregate
from penstock.plan.operators.windows.window_aggregate import END, START
from penstock.plan.operators.windows.window_assigner import spans
from tests.unit.plan.twin import TRAFFIC, World, bind

MINUTE = "traffic [RANGE 1 MINUTE]"


def aggregate_of(root: Operator) -> WindowAggregate:
    while not isinstance(root, WindowAggregate):
        (root,) = root.inputs
    return root


def keys(select: str) -> list[str]:
    return [sql for _, sql in aggregate_of(bind(select)).keys]


def calls(select: str) -> list[str]:
    return [each.text for _, each in aggregate_of(bind(select)).aggregates]


def shown(select: str) -> dict[str, str]:
    root = bind(select)
    assert isinstance(root, Project)
    return {name: readable(sql) for name, sql in root.columns}


@pytest.mark.parametrize(
    ("window", "size", "slide"),
    [
        ("RANGE 10 SECONDS", 10_000_000, 10_000_000),
        ("RANGE 10 SECONDS SLIDE 4 SECONDS", 10_000_000, 4_000_000),
        ("RANGE 1 DAY SLIDE 1 HOUR", 86_400_000_000, 3_600_000_000),
        ("RANGE 250 MILLISECONDS", 250_000, 250_000),
    ],
)
def test_a_window_is_kept_in_microseconds(window: str, size: int, slide: int) -> None:
    found = aggregate_of(bind(f"SELECT count(*) AS n FROM traffic [{window}]"))
    assert found.assigner == spans(size, slide)
    assert found.time == EventTime("ts")
    assert found.input is TRAFFIC


@pytest.mark.parametrize(
    "group",
    ["upper(kind)", "k", "K", "1", "ALL", "upper(kind), 1", "k, window_start", "window_end, k, 1"],
)
def test_one_grouping_may_be_written_in_many_ways(group: str) -> None:
    select = f"SELECT upper(kind) AS k, count(*) AS n FROM {MINUTE} GROUP BY {group}"
    assert keys(select) == ["upper(`kind`)"]
    assert shown(select) == {"k": "`k0`", "n": "`a0`"}


def test_group_by_all_takes_everything_that_is_no_aggregate() -> None:
    select = f"SELECT kind, mph + 1, max(mph) AS m, window_end FROM {MINUTE} GROUP BY ALL"
    assert keys(select) == ["`kind`", "`mph` + 1"]


def test_the_order_of_keys_makes_no_difference() -> None:
    forward = bind(f"SELECT kind, car_id, count(*) AS n FROM {MINUTE} GROUP BY kind, car_id")
    backward = bind(f"SELECT kind, car_id, count(*) AS n FROM {MINUTE} GROUP BY car_id, kind")
    assert forward == backward


def test_a_column_of_the_input_comes_before_an_alias_in_group_by() -> None:
    assert keys(f"SELECT kind AS mph, count(*) AS n, kind AS k FROM {MINUTE} GROUP BY k, mph") == [
        "`kind`",
        "`mph`",
    ]


def test_expressions_over_keys_and_aggregates_go_over_the_result() -> None:
    select = f"""
        SELECT concat(upper(kind), '!') AS k, sum(mph) / count(*) + mph % 7 AS x
        FROM {MINUTE} GROUP BY upper(kind), mph % 7"""
    assert shown(select) == {"k": "concat(`k1`, '!')", "x": "`a1` / `a0` + `k0`"}


def test_a_grouped_expression_does_not_free_its_columns() -> None:
    assert keys(
        f"SELECT upper(kind) AS k, count(*) AS n FROM {MINUTE} GROUP BY upper(kind), 1"
    ) == ["upper(`kind`)"]


def test_a_call_that_is_said_twice_is_computed_once() -> None:
    select = f"SELECT count(*) AS n, max(MPH) AS a, max(mph) + 1 AS b FROM {MINUTE}"
    assert calls(select) == ["COUNT(*)", "MAX(`mph`)"]


def test_a_filter_belongs_to_its_call() -> None:
    select = f"SELECT count(*) FILTER (WHERE mph > 3) AS a, count(*) AS b FROM {MINUTE}"
    assert calls(select) == ["COUNT(*)", "COUNT(*) FILTER(WHERE `mph` > 3)"]


def test_having_may_use_aliases_aggregates_keys_and_bounds() -> None:
    root = bind(
        f"SELECT upper(kind) AS k, count(*) AS n FROM {MINUTE} GROUP BY k "
        "HAVING n > 2 AND k <> 'X' AND max(mph) > 3 AND window_start IS NOT NULL"
    )
    assert isinstance(root, Project)
    assert isinstance(root.input, Filter)
    assert tuple(map(readable, root.input.conditions)) == (
        "(`a0`) > 2",
        "(`k0`) <> 'X'",
        "NOT `window_start` IS NULL",
        "`a1` > 3",
    )


def test_an_aggregate_only_in_having_is_computed_too() -> None:
    select = f"SELECT kind FROM {MINUTE} GROUP BY kind HAVING count(*) > 2"
    assert calls(select) == ["COUNT(*)"]
    assert shown(select) == {"kind": "`k0`"}


def test_where_comes_before_the_aggregate() -> None:
    root = bind(f"SELECT count(*) AS n FROM {MINUTE} WHERE mph > 3")
    assert isinstance(aggregate_of(root).input, Filter)


def test_grouping_alone_is_an_aggregate() -> None:
    assert keys(f"SELECT kind FROM {MINUTE} GROUP BY kind") == ["`kind`"]
    assert calls(f"SELECT kind FROM {MINUTE} GROUP BY kind") == []


def test_lambdas_may_stand_over_aggregates() -> None:
    select = f"SELECT transform(first(xs), x -> x + max(mph)) AS y FROM {MINUTE}"
    assert shown(select) == {"y": "transform(`a1`, x -> x + `a0`)"}


def test_a_lambda_does_not_hide_a_column_that_is_not_grouped() -> None:
    with pytest.raises(BadQueryError):
        bind(f"SELECT transform(first(xs), x -> x + mph) AS y FROM {MINUTE}")


# -- the window's own bounds ---------------------------------------------------------------


def test_the_bounds_are_columns_of_the_result_whatever_their_case() -> None:
    select = f"SELECT window_start, WINDOW_END AS till, count(*) AS n FROM {MINUTE}"
    assert shown(select) == {"window_start": "`window_start`", "till": "`window_end`", "n": "`a0`"}


def test_the_start_is_the_preferred_time_and_the_end_runs_ahead() -> None:
    minute = 60_000_000
    both = bind(f"SELECT window_end, window_start, count(*) AS n FROM {MINUTE}")
    assert both.times == (EventTime("window_start"), EventTime("window_end", minute))
    end = bind(f"SELECT window_end AS till, count(*) AS n FROM {MINUTE}")
    assert end.times == (EventTime("till", minute),)
    assert bind(f"SELECT count(*) AS n FROM {MINUTE}").times == ()
    moved = bind(f"SELECT window_start + INTERVAL 1 SECOND AS s, count(*) AS n FROM {MINUTE}")
    assert moved.times == ()


def test_outside_an_aggregate_the_bounds_are_the_windows_and_inside_the_inputs() -> None:
    world = World()
    world.name("q", f"SELECT window_start, count(*) AS n FROM {MINUTE}")
    root = world.bind("SELECT window_start, max(window_start) AS m FROM q [RANGE 1 HOUR]")
    assert isinstance(root, Project)
    assert root.columns == (("window_start", quoted(START)), ("m", quoted(own("a0"))))
    hour = aggregate_of(root)
    assert hour.assigner == spans(3_600_000_000, 3_600_000_000)
    assert [each.text for _, each in hour.aggregates] == ["MAX(`window_start`)"]


def test_windows_over_windows_go_by_the_start_or_by_the_end_with_its_offset() -> None:
    world = World()
    world.name(
        "by_start", f"SELECT window_start AS s, window_end AS e, count(*) AS n FROM {MINUTE}"
    )
    world.name("by_end", f"SELECT window_end AS e, count(*) AS n FROM {MINUTE}")
    start = aggregate_of(world.bind("SELECT sum(n) AS n FROM by_start [RANGE 1 HOUR]"))
    end = aggregate_of(world.bind("SELECT sum(n) AS n FROM by_end [RANGE 1 HOUR]"))
    assert start.time == EventTime("s")
    assert end.time == EventTime("e", 60_000_000)


def test_the_aggregates_columns_are_bounds_keys_and_calls() -> None:
    found = aggregate_of(bind(f"SELECT kind, avg(mph) AS m FROM {MINUTE} GROUP BY kind"))
    assert found.schema.names == (START, END, own("k0"), own("a0"))
