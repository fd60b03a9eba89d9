import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from penstock.errors import PenstockError
from penstock.sql import ModifierCall, modifier_of, parse_select, to_sql
from tests.unit.sql.texts import expressions

X, Y = exp.column("x"), exp.column("y")


def selected(text: str) -> exp.Expr:
    return parse_select(f"SELECT {text} FROM s").selects[0]


def in_tree(tree: exp.Expr) -> list[ModifierCall]:
    return [call for node in tree.walk() if (call := modifier_of(node))]


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ("adiff(x)", ModifierCall("adiff", (X,))),
        ("ADIFF(x)", ModifierCall("adiff", (X,))),
        ("`adiff`(x)", ModifierCall("adiff", (X,))),
        ("rdiff(x)", ModifierCall("rdiff", (X,))),
        ("aslope(y, x)", ModifierCall("aslope", (Y, X))),
        ("rdiff(x, pseudo => y)", ModifierCall("rdiff", (X,), pseudo=Y)),
        ("adiff(x, profile => 'O')", ModifierCall("adiff", (X,), profile="O")),
        ("adiff(x, PROFILE => 'n')", ModifierCall("adiff", (X,), profile="N")),
        ("adiff(x) OVER ()", ModifierCall("adiff", (X,))),
        ("adiff(x) OVER (PARTITION BY y, x)", ModifierCall("adiff", (X,), partition_by=(Y, X))),
        (
            "aslope(y, x, profile => 'O', pseudo => x) OVER (PARTITION BY y)",
            ModifierCall("aslope", (Y, X), X, "O", (Y,)),
        ),
    ],
)
def test_a_modifier_is_recognised_with_all_that_it_says(text: str, call: ModifierCall) -> None:
    node = selected(text)
    assert modifier_of(node) == call
    assert in_tree(node) == [call]


@pytest.mark.parametrize(
    "text", ["x", "abs(x)", "sum(x)", "sum(x) OVER (PARTITION BY y)", "lag(x) OVER (ORDER BY y)"]
)
def test_what_is_no_modifier_is_left_alone(text: str) -> None:
    assert modifier_of(selected(text)) is None


def test_a_modifier_is_found_wherever_it_stands_once() -> None:
    tree = parse_select(
        "SELECT 1 + adiff(x) OVER (PARTITION BY y) AS d, adiff(rdiff(x)) AS e FROM s "
        "WHERE CASE WHEN abs(aslope(y, x)) > 3 THEN TRUE END"
    )
    assert sorted(call.name for call in in_tree(tree)) == ["adiff", "adiff", "aslope", "rdiff"]


def test_a_refused_modifier_knows_its_place_also_in_a_tree_that_was_made_later() -> None:
    node = selected("1 +\n  adiff(x)").find(exp.Anonymous)
    assert node is not None
    node.set("expressions", [])
    with pytest.raises(PenstockError) as caught:
        modifier_of(node)
    assert caught.value.place is not None
    assert (caught.value.place.line, caught.value.place.column) == (2, 3)


keys = st.lists(st.sampled_from(["a", "`the key`", "b % 2"]), max_size=3)
options = st.fixed_dictionaries(
    {}, optional={"pseudo": expressions, "profile": st.sampled_from(["'N'", "'O'"])}
)


@settings(deadline=None)
@given(st.sampled_from(["rdiff", "aslope"]), expressions, options, st.none() | keys)
def test_any_modifier_parses_and_survives_printing(
    name: str, value: str, given_options: dict[str, str], by: list[str] | None
) -> None:
    arguments = [value] * (2 if name == "aslope" else 1)
    arguments += [f"{key} => {one}" for key, one in given_options.items()]
    keys_text = f"PARTITION BY {', '.join(by)}" if by else ""
    over = "" if by is None else f" OVER ({keys_text})"
    tree = parse_select(f"SELECT {name}({', '.join(arguments)}){over} AS m FROM s")
    again = parse_select(to_sql(tree))
    assert again == tree
    call = modifier_of(tree.selects[0].this)
    assert call is not None
    assert call == modifier_of(again.selects[0].this)
    assert (call.name, len(call.partition_by)) == (name, len(by or ()))
    assert (call.pseudo is not None) == ("pseudo" in given_options)
    assert f"'{call.profile}'" == given_options.get("profile", "'N'")
