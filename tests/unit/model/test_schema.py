from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model.schema import Column, Schema, quoted

NAMES = st.text(st.sampled_from("aB`1 é"), min_size=1, max_size=4)


@given(st.lists(NAMES, unique_by=str.lower))
@settings(deadline=None)
def test_a_column_is_found_whatever_its_case(names: list[str]) -> None:
    schema = Schema(tuple(Column(name, f"type{place}") for place, name in enumerate(names)))
    assert schema.names == tuple(names)
    assert len(schema) == len(list(schema)) == len(names)
    for column in schema:
        assert schema.find(column.name.swapcase()) == column
    assert schema.find("nada") is None


@given(st.lists(st.tuples(NAMES, NAMES)))
@settings(deadline=None)
def test_quoted_names_stay_apart(pairs: list[tuple[str, str]]) -> None:
    for one, two in pairs:
        assert (quoted(one) == quoted(two)) == (one == two)
        assert quoted(one)[1:-1].replace("``", "").count("`") == 0


def test_ddl_quotes_every_name() -> None:
    schema = Schema((Column("a`b", "int"), Column("c d", "decimal(10,2)")))
    assert schema.ddl() == "`a``b` int, `c d` decimal(10,2)"
