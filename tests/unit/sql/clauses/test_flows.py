import pytest

from penstock.errors import PenstockError
from penstock.model.functions.flows import Term
from penstock.sql import CreateQuery, WrittenFlow, flow_of, parse


def flow(text: str) -> WrittenFlow:
    (statement,) = parse(f"CREATE QUERY q AS FLOW {text}")
    assert isinstance(statement, CreateQuery)
    assert statement.definition.select.startswith("FLOW")
    table = statement.select.args["from_"].this
    found = flow_of(table)
    assert found is not None
    return found


def test_a_flow_is_read_as_it_prints() -> None:
    text = "pcc(4, fft3_part, xmagn(# , 'x', on => TRUE, off => NULL), os_join(c, timeout => -0.5))"
    read = flow(f"{text} OVER radio OUTPUT 2")
    assert read.output == 2
    assert read.term.name == "pcc"
    assert read.term.arguments[0] == 4
    again = flow(f"{read.term} OVER radio")
    assert str(again.term) == str(read.term)
    assert str(read.term) == text.replace("# ", "#")


def test_a_name_alone_is_a_function_and_its_place_is_known() -> None:
    read = flow("\n  fft3 OVER `my radio`")
    assert isinstance(read.term, Term)
    assert (read.term.name, read.term.arguments) == ("fft3", ())
    assert read.place is not None
    assert (read.place.line, read.place.column) == (2, 3)


def test_clauses_follow_a_flow() -> None:
    text = (
        "CREATE QUERY q WITH (sites => 'workers') AS FLOW central(fft3) OVER radio "
        "STOP AFTER 10 TUPLES INTO files(path => 'x')"
    )
    (statement,) = parse(text)
    assert isinstance(statement, CreateQuery)
    assert statement.definition.sites == "workers"
    assert statement.definition.stop_after is not None
    assert statement.definition.sink is not None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("FLOW", "SQL_SYNTAX"),
        ("FLOW 4 OVER radio", "SQL_SYNTAX"),
        ("FLOW pcc(4 OVER radio", "SQL_SYNTAX"),
        ("FLOW pcc(4, a => 1, 2) OVER radio", "SQL_SYNTAX"),
        ("FLOW pcc(a => 1, a => 2) OVER radio", "SQL_SYNTAX"),
        ("FLOW pcc(4)", "SQL_SYNTAX"),
        ("FLOW pcc(4) OVER", "SQL_SYNTAX"),
        ("FLOW pcc(4) OVER radio OUTPUT", "BAD_OPTION"),
        ("FLOW pcc(4) OVER radio OUTPUT -1", "BAD_OPTION"),
        ("FLOW pcc(4) OVER radio, other", "SQL_SYNTAX"),
        (f"FLOW {'pipe(' * 60}f{')' * 60} OVER radio", "SQL_SYNTAX"),
    ],
)
def test_what_is_no_flow_is_refused_at_its_place(text: str, code: str) -> None:
    with pytest.raises(PenstockError) as refused:
        parse(f"CREATE QUERY q AS {text}")
    assert refused.value.code == code
    assert refused.value.place is not None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("CREATE STREAM s (x COMPLEX) FROM push()", "TYPE_MISMATCH"),
        ("CREATE STREAM s (x ARRAY<FLOAT VECTOR>) FROM push()", "SQL_SYNTAX"),
        ("CREATE STREAM s (x STRUCT<a: FLOAT VECTOR>) FROM push()", "TYPE_MISMATCH"),
        ("CREATE STREAM s (x INT VECTOR) FROM push()", "SQL_SYNTAX"),
        ("CREATE STREAM TYPE t", "SQL_SYNTAX"),
        ("CREATE STREAM TYPE t (x INT) UNDER", "SQL_SYNTAX"),
        ("CREATE STREAM s OF FROM push()", "SQL_SYNTAX"),
        ("CREATE FUNCTION f(s radio) AS SELECT * FROM s", "SQL_SYNTAX"),
        ("CREATE FUNCTION f(s radio, s INT) RETURNS radio AS SELECT * FROM s", "NAME_TAKEN"),
        ("CREATE FUNCTION f(s radio) RETURNS radio AS", "SQL_SYNTAX"),
        ("CREATE QUERY q WITH (sites => 'moon') AS FLOW f OVER s", "BAD_OPTION"),
    ],
)
def test_types_and_functions_that_make_no_sense_are_refused(text: str, code: str) -> None:
    with pytest.raises(PenstockError) as refused:
        parse(text)
    assert refused.value.code == code
