import pytest
from sqlglot import exp

from penstock.sql import parse_select, spark_sql
from penstock.sql.dialect.verbatim_functions import AGGREGATES

# sqlglot's own Spark dialect would print each of these as something else.
REWRITTEN = [
    "to_char(x, '999')",
    "parse_json(x)",
    "listagg(x)",
    "array_agg(x)",
    "array_size(x)",
    "date_sub(d, 1)",
    "trunc(d, u)",
    "date_trunc(u, ts)",
    "from_utc_timestamp(ts, 'UTC')",
    "unix_date(d)",
    "instr(a, b)",
    "log10(x)",
    "nvl(a, b)",
    "sha1(a)",
    "named_struct('a', 1)",
    "struct(a, b)",
    "to_timestamp(a)",
    "first(a, true)",
    "max(a, b)",
    "uuid(3)",
    "regexp_like(a, b)",
    "element_at(xs, 1)",
    "dateadd(DAY, 1, d)",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY x)",
]


@pytest.mark.parametrize("text", REWRITTEN)
def test_a_function_is_left_as_it_is_written(text: str) -> None:
    assert (
        spark_sql(parse_select(f"SELECT {text} FROM t")).lower() == f"select {text} from t".lower()
    )


@pytest.mark.parametrize("name", [*AGGREGATES.split(), "count", "sum", "avg", "mean", "min", "max"])
def test_an_aggregate_is_told_apart(name: str) -> None:
    assert parse_select(f"SELECT {name}(a) FROM t").find(exp.AggFunc)


@pytest.mark.parametrize("name", ["abs", "lag", "explode", "greatest", "my_function", "row_number"])
def test_another_function_is_no_aggregate(name: str) -> None:
    assert not parse_select(f"SELECT {name}(a) FROM t").find(exp.AggFunc)


def test_a_unit_of_time_is_no_column() -> None:
    tree = parse_select("SELECT timestampdiff(HOUR, a, b) FROM t")
    assert [column.name for column in tree.find_all(exp.Column)] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("x - INTERVAL 1 HOUR 30 MINUTES", "x - (INTERVAL '1' HOUR + INTERVAL '30' MINUTES)"),
        ("a & b << 2", "a & b << 2"),
        ("'it''s'", "'it\\'s'"),
        ("'a' 'b'", "'ab'"),
        ("r'\\d'", "'\\\\d'"),
        ("DATE '2026-01-31'", "CAST('2026-01-31' AS DATE)"),
        ("a::INT", "CAST(a AS INT)"),
        ("TRY_CAST(a AS INT)", "TRY_CAST(a AS INT)"),
        ("array[0]", "array[0]"),
        ("current_timestamp", "CURRENT_TIMESTAMP()"),
        ("any(a)", "any(a)"),
        ("a LIKE ANY ('x', 'y')", "a LIKE ANY ('x', 'y')"),
        ("exists(xs, x -> x > 1)", "exists(xs, x -> x > 1)"),
    ],
)
def test_an_expression_means_to_spark_what_was_written(text: str, printed: str) -> None:
    assert spark_sql(parse_select(f"SELECT {text}")) == f"SELECT {printed}"
