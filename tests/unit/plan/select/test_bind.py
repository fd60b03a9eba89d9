import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import PenstockError
from penstock.model.own_names import readable
from penstock.model.schema import quoted
from penstock.plan.operators import EventTime, Filter, Operator, Project, TableJoin, Union
from tests.unit.plan.twin import ROADS, TRAFFIC, World, bind

NAMES = TRAFFIC.schema.names
TS = (EventTime("ts"),)


def shown(select: str) -> dict[str, str]:
    """Return the columns of a SELECT's projection, with their SQL."""
    root = bind(select)
    assert isinstance(root, Project)
    return dict(root.columns)


def conditions(select: str) -> tuple[str, ...]:
    root = bind(select)
    assert isinstance(root, Filter)
    return root.conditions


def code(select: str) -> str:
    with pytest.raises(PenstockError) as refused:
        bind(select)
    return refused.value.code


@given(st.sampled_from(NAMES), st.data())
@settings(deadline=None)
def test_a_column_is_found_whatever_its_case_and_named_as_it_was_written(
    name: str, data: st.DataObject
) -> None:
    upper = data.draw(st.lists(st.booleans(), min_size=len(name), max_size=len(name)))
    written = "".join(c.upper() if up else c for c, up in zip(name, upper, strict=True))
    assert shown(f"SELECT {written}, 1 AS one FROM TrafFic") == {written: f"`{name}`", "one": "1"}


def test_an_alias_hides_the_streams_own_name() -> None:
    assert shown("SELECT t.mph FROM traffic t") == {"mph": "`mph`"}
    assert shown("SELECT T.mph FROM traffic t") == {"mph": "`mph`"}
    assert shown("SELECT traffic.mph FROM traffic") == {"mph": "`mph`"}
    assert code("SELECT traffic.mph FROM traffic t") == "UNKNOWN_COLUMN"


def test_the_star_of_one_stream_is_the_stream_itself() -> None:
    assert bind("SELECT * FROM traffic") is TRAFFIC
    assert bind("SELECT t.* FROM traffic t") is TRAFFIC
    assert bind("SELECT ts, car_id, kind, mph, xs, st FROM traffic") is TRAFFIC


def test_a_star_stands_beside_other_columns() -> None:
    expected = {name: quoted(name) for name in NAMES} | {"twice": "`mph` * 2"}
    assert shown("SELECT *, mph * 2 AS twice FROM traffic") == expected


def test_a_star_leaves_out_what_except_names() -> None:
    assert list(shown("SELECT * EXCEPT (TS, xs) FROM traffic")) == ["car_id", "kind", "mph", "st"]
    assert list(shown("SELECT t.* EXCEPT (ts) FROM traffic t")) == list(NAMES[1:])
    assert code("SELECT * EXCEPT (nada) FROM traffic") == "UNKNOWN_COLUMN"
    assert code("SELECT * EXCEPT (st.a) FROM traffic") == "NOT_YET"


def test_the_star_of_one_side_of_a_join_means_that_side() -> None:
    joined = "FROM traffic t JOIN roads r ON t.mph = r.id"
    assert shown(f"SELECT t.*, r.name AS road {joined}") == {
        **{name: quoted(name) for name in NAMES},
        "road": "`name`",
    }
    assert shown(f"SELECT car_id, r.* {joined}") == {
        "car_id": "`car_id`",
        "id": "`id`",
        "name": "`name`",
        "mph": "`roads_mph`",
    }


def test_the_star_of_an_unknown_input_is_refused() -> None:
    assert code("SELECT u.* FROM traffic t") == "UNKNOWN_COLUMN"


def test_fields_of_structs_are_reached_with_and_without_the_inputs_name() -> None:
    assert shown("SELECT st.a AS x, t.st.b.c AS y, ST.B AS z FROM traffic t") == {
        "x": "`st`.`a`",
        "y": "`st`.`b`.`c`",
        "z": "`st`.`B`",
    }


def test_a_lambdas_variables_are_its_own() -> None:
    assert shown("SELECT transform(xs, x -> x + mph) AS y FROM traffic") == {
        "y": "transform(`xs`, x -> x + `mph`)"
    }
    assert shown("SELECT transform(xs, mph -> mph + 1) AS y FROM traffic") == {
        "y": "transform(`xs`, `_penstock_mph` -> `_penstock_mph` + 1)"
    }
    assert shown("SELECT transform(xs, mph -> mph + traffic.mph) AS y FROM traffic") == {
        "y": "transform(`xs`, `_penstock_mph` -> `_penstock_mph` + `mph`)"
    }
    assert shown("SELECT transform(xs, (x, i) -> x + i) AS y FROM traffic") == {
        "y": "transform(`xs`, (x, i) -> x + i)"
    }
    assert code("SELECT transform(xs, x -> x + nada) AS y FROM traffic") == "UNKNOWN_COLUMN"
    assert code("SELECT transform(xs, x -> x), x AS y FROM traffic") == "UNKNOWN_COLUMN"


def test_an_earlier_alias_may_be_used_and_a_later_one_may_not() -> None:
    assert shown("SELECT mph * 2 AS fast, fast + 1 AS faster FROM traffic") == {
        "fast": "`mph` * 2",
        "faster": "fast + 1",
    }
    assert code("SELECT fast + 1 AS faster, mph * 2 AS fast FROM traffic") == "UNKNOWN_COLUMN"


def test_a_column_of_the_input_comes_before_an_alias() -> None:
    assert shown("SELECT mph * 2 AS mph, mph + 1 AS n FROM traffic")["n"] == "`mph` + 1"
    assert shown("SELECT 2 AS t, t.mph AS n FROM traffic t")["n"] == "`mph`"


def test_an_alias_does_not_hide_a_field_of_the_same_name() -> None:
    assert shown("SELECT 1 AS a, t.st.a AS x FROM traffic t")["x"] == "`st`.`a`"


def test_a_field_of_an_earlier_alias_may_be_used() -> None:
    assert shown("SELECT named_struct('z', 1) AS p, p.z AS q FROM traffic")["q"] == "p.z"


def test_a_column_without_an_alias_is_called_what_it_says() -> None:
    assert list(shown("SELECT mph + 1 FROM traffic")) == ["mph + 1"]


def test_two_columns_of_one_name_are_refused_whatever_their_case() -> None:
    assert code("SELECT mph, MPH FROM traffic") == "BAD_QUERY"
    assert code("SELECT mph AS a, kind AS A FROM traffic") == "BAD_QUERY"


def test_an_unknown_column_is_refused_where_it_stands_with_the_nearest_name() -> None:
    with pytest.raises(PenstockError) as refused:
        bind("SELECT car_id,\n  mpg FROM traffic")
    assert refused.value.code == "UNKNOWN_COLUMN"
    assert refused.value.place is not None
    assert (refused.value.place.line, refused.value.place.column) == (2, 3)
    assert "mph" in refused.value.hint


def test_a_column_of_two_inputs_needs_its_inputs_name() -> None:
    assert code("SELECT mph FROM traffic t, roads r") == "BAD_QUERY"
    assert shown("SELECT r.mph AS limit FROM traffic t, roads r") == {"limit": "`roads_mph`"}
    assert shown("SELECT t.mph AS speed FROM traffic t, roads r") == {"speed": "`mph`"}


@given(st.permutations(["mph > 1", "kind = 'car'", "car_id LIKE 'a%'", "xs[0] = 1 OR mph = 0"]))
@settings(deadline=None)
def test_the_order_and_the_brackets_of_conjuncts_make_no_difference(order: list[str]) -> None:
    one, two, three, four = (f"({each})" for each in order)
    told = conditions(f"SELECT * FROM traffic WHERE {one} AND {two} AND {three} AND {four}")
    assert told == conditions(
        f"SELECT * FROM traffic t WHERE ({one} AND ({two} AND {three})) AND {four}"
    )
    assert len(told) == 4


def test_a_conjunct_that_is_said_twice_is_kept_once() -> None:
    assert conditions("SELECT * FROM traffic WHERE mph > 1 AND MPH > 1") == ("`mph` > 1",)


def test_a_disjunction_is_one_condition() -> None:
    assert conditions("SELECT * FROM traffic WHERE mph > 1 OR kind = 'a' AND mph < 3") == (
        "`mph` > 1 OR `kind` = 'a' AND `mph` < 3",
    )


def test_a_select_in_from_is_bound_first() -> None:
    root = bind("SELECT x.fast FROM (SELECT mph * 2 AS fast FROM traffic WHERE mph > 3) AS x")
    assert isinstance(root, Project)
    assert root.columns == (("fast", "`mph` * 2"),)  # the outer one changes nothing
    assert root.input.text() == "filter (`mph` > 3)"


def test_the_analyst_is_asked_about_every_filter_and_projection() -> None:
    world = World()
    world.bind("SELECT mph + 1 AS n FROM traffic WHERE mph > 3")
    assert list(map(readable, world.analyst.asked)) == [
        "SELECT * FROM input AS i WHERE (`mph` > 3)",
        "SELECT `mph` + 1 AS `n` FROM input",
    ]


# -- tables --------------------------------------------------------------------------------


def join_of(select: str) -> TableJoin:
    root: Operator = bind(select)
    while not isinstance(root, TableJoin):
        (root,) = root.inputs
    return root


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("JOIN roads r ON t.mph = r.id", "INNER"),
        ("INNER JOIN roads r ON t.mph = r.id", "INNER"),
        ("LEFT JOIN roads r ON t.mph = r.id", "LEFT"),
        ("LEFT OUTER JOIN roads r ON t.mph = r.id", "LEFT"),
        ("LEFT SEMI JOIN roads r ON t.mph = r.id", "LEFT SEMI"),
        ("LEFT ANTI JOIN roads r ON t.mph = r.id", "LEFT ANTI"),
        ("CROSS JOIN roads r", "CROSS"),
        (", roads r", "CROSS"),
    ],
)
def test_a_stream_is_joined_with_a_table(written: str, kind: str) -> None:
    join = join_of(f"SELECT car_id FROM traffic t {written}")
    assert join.kind == kind
    assert readable(join.on) == ("" if kind == "CROSS" else "(l.`mph` = r.`id`)")
    assert join.times == TS


def test_a_table_that_is_named_first_makes_the_same_join() -> None:
    left = join_of("SELECT car_id FROM traffic t JOIN roads r ON t.mph = r.id")
    right = join_of("SELECT car_id FROM roads r JOIN traffic t ON r.id = t.mph")
    swapped = join_of("SELECT car_id FROM roads a JOIN traffic b ON b.mph = a.id")
    assert left == swapped
    assert right.input is TRAFFIC


@pytest.mark.parametrize(
    "written",
    [
        "roads r LEFT JOIN traffic t ON t.mph = r.id",
        "roads r LEFT SEMI JOIN traffic t ON t.mph = r.id",
        "traffic t RIGHT JOIN roads r ON t.mph = r.id",
        "traffic t FULL OUTER JOIN roads r ON t.mph = r.id",
    ],
)
def test_a_join_that_would_keep_a_tables_rows_is_refused(written: str) -> None:
    assert code(f"SELECT 1 AS one FROM {written}") == "BAD_QUERY"


def test_a_tables_columns_that_meet_the_streams_get_names_of_their_own() -> None:
    join = join_of("SELECT car_id FROM traffic t JOIN roads r ON t.mph = r.id")
    assert join.taken == (("id", "id"), ("name", "name"), ("mph", "roads_mph"))
    assert join.schema.names == (*NAMES, "id", "name", "roads_mph")


def test_two_joins_with_one_table_keep_their_columns_apart() -> None:
    root = bind(
        "SELECT a.mph AS x, b.mph AS y FROM traffic t "
        "JOIN roads a ON t.mph = a.id JOIN roads b ON a.id = b.id"
    )
    assert isinstance(root, Project)
    assert root.columns == (("x", "`roads_mph`"), ("y", "`roads_roads_mph`"))


def test_a_semi_join_shows_nothing_of_the_table() -> None:
    assert join_of("SELECT * FROM traffic t LEFT SEMI JOIN roads r ON t.mph = r.id").schema.names
    assert code("SELECT name FROM traffic t LEFT SEMI JOIN roads r ON t.mph = r.id") == (
        "UNKNOWN_COLUMN"
    )


def test_using_compares_the_columns_of_both_sides() -> None:
    join = join_of("SELECT car_id FROM traffic JOIN roads USING (MPH)")
    assert readable(join.on) == "l.`mph` = r.`mph`"
    assert code("SELECT car_id FROM traffic JOIN roads USING (kind)") == "UNKNOWN_COLUMN"
    assert code("SELECT car_id FROM traffic JOIN roads USING (name)") == "UNKNOWN_COLUMN"


@given(st.permutations(["t.mph = r.id", "r.name LIKE 'a%'", "t.kind = 'car' OR r.id = 1"]))
@settings(deadline=None)
def test_the_order_of_a_joins_conditions_makes_no_difference(order: list[str]) -> None:
    on = " AND ".join(f"({each})" for each in order)
    join = join_of(f"SELECT car_id FROM traffic t JOIN roads r ON {on}")
    assert readable(join.on) == (
        "(l.`kind` = 'car' OR r.`id` = 1) AND (l.`mph` = r.`id`) AND (r.`name` LIKE 'a%')"
    )


def test_two_inputs_of_one_name_are_refused() -> None:
    assert code("SELECT 1 AS one FROM traffic roads, roads") == "BAD_QUERY"
    assert code("SELECT 1 AS one FROM traffic x, roads X") == "BAD_QUERY"


def test_tables_alone_are_no_stream() -> None:
    assert ROADS.schema.names == ("id", "name", "mph")
    assert code("SELECT id FROM roads") == "BAD_QUERY"
    assert code("SELECT 1 AS one") == "BAD_QUERY"


# -- unions and event time -----------------------------------------------------------------


def test_a_union_of_unions_is_flat_and_takes_the_first_names() -> None:
    root = bind(
        "SELECT ts, mph FROM traffic UNION ALL "
        "SELECT at, mph FROM south UNION ALL SELECT at, mph + 1 AS x FROM south"
    )
    assert isinstance(root, Union)
    assert len(root.inputs) == 3
    assert root.schema.names == ("ts", "mph")


@pytest.mark.parametrize(
    ("select", "times"),
    [
        ("SELECT * FROM traffic", TS),
        ("SELECT mph, ts FROM traffic WHERE mph > 3", TS),
        ("SELECT TS AS moment, mph FROM traffic", (EventTime("moment"),)),
        ("SELECT ts AS a, ts AS b FROM traffic", (EventTime("a"), EventTime("b"))),
        ("SELECT mph FROM traffic", ()),
        ("SELECT ts + INTERVAL 1 SECOND AS ts FROM traffic", ()),
        ("SELECT x.m FROM (SELECT ts AS m, mph FROM traffic) AS x", (EventTime("m"),)),
        ("SELECT at FROM sensors", ()),
        ("SELECT ts, name FROM traffic t JOIN roads r ON t.mph = r.id", TS),
        ("SELECT ts, mph FROM traffic UNION ALL SELECT at, mph FROM south", TS),
        ("SELECT ts, mph FROM traffic UNION ALL SELECT at, mph FROM sensors", ()),
        ("SELECT mph, ts FROM traffic UNION ALL SELECT at, mph FROM south", ()),
        (
            "SELECT ts AS a, ts AS b FROM traffic UNION ALL SELECT NULL AS x, at FROM south",
            (EventTime("b"),),
        ),
    ],
)
def test_event_time_goes_where_its_column_goes(select: str, times: tuple[EventTime, ...]) -> None:
    assert bind(select).times == times


def test_a_union_of_windows_and_tuples_has_the_windows_end_as_its_time() -> None:
    world = World()
    world.name("q", "SELECT window_end, count(*) AS n FROM traffic [RANGE 10 SECONDS]")
    assert world.known["q"].operator.times == (EventTime("window_end", 10_000_000),)
    root = world.bind("SELECT window_end, n FROM q UNION ALL SELECT at, mph FROM south")
    assert root.times == (EventTime("window_end"),)


def test_a_qualifier_is_an_input_first_and_then_a_column() -> None:
    assert shown("SELECT st.mph AS n FROM traffic st") == {"n": "`mph`"}  # as Spark has it
    assert shown("SELECT st.a AS n FROM traffic st") == {"n": "`st`.`a`"}
    assert shown("SELECT st.st.a AS n FROM traffic st") == {"n": "`st`.`a`"}
    assert code("SELECT t.nothing AS n FROM traffic t") == "UNKNOWN_COLUMN"
