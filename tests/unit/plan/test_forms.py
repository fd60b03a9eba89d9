"""Forms of Spark SQL as other trees, and what is refused of them, by name."""

import pytest

from penstock.errors import PenstockError
from penstock.plan.select.named_windows import with_windows_spelt_out
from penstock.plan.select.time_windows import in_brackets
from penstock.sql import parse_select, to_sql


def written(text: str) -> str:
    select, _ = in_brackets(with_windows_spelt_out(parse_select(text)))
    return to_sql(select)


@pytest.mark.parametrize(
    ("spark", "ours"),
    [
        (
            "SELECT window.start, count(*) FROM s GROUP BY window(ts, '10 seconds')",
            "SELECT `window_start` AS `start`, count(*) FROM s [RANGE 10 SECONDS]"
            " GROUP BY `window_start`",
        ),
        (
            "SELECT k, count(*) AS n FROM s AS x GROUP BY k,"
            " window(x.ts, '1 minute', INTERVAL 30 SECONDS, '5 seconds')",
            "SELECT k, count(*) AS n FROM s [RANGE 1 MINUTE SLIDE 30 SECONDS OFFSET 5 SECONDS] AS x"
            " GROUP BY k, `window_start`",
        ),
        (
            "SELECT w.end AS e FROM (SELECT window(ts, '1 day') AS w FROM s GROUP BY w) AS x",
            "SELECT w.end AS e FROM (SELECT window(ts, '1 day') AS w FROM s GROUP BY w) AS x",
        ),
        (
            "SELECT session_window.end FROM s GROUP BY session_window(ts, '1 day')",
            "SELECT `window_end` AS `end` FROM s [SESSION GAP 1 DAY] GROUP BY `window_start`",
        ),
        (
            "SELECT sum(a) OVER w FROM s WINDOW v AS (PARTITION BY k), w AS (v ORDER BY a)",
            "SELECT sum(a) OVER (PARTITION BY k ORDER BY a) FROM s",
        ),
    ],
)
def test_a_form_of_spark_is_another_way_to_write_ours(spark: str, ours: str) -> None:
    assert written(spark) == to_sql(parse_select(ours))


@pytest.mark.parametrize(
    ("text", "code", "word"),
    [
        (
            "SELECT 1 FROM s GROUP BY window(ts, '1 second'), window(ts, '2 seconds')",
            "BAD_QUERY",
            "one window",
        ),
        ("SELECT window(ts, '1 second') FROM s", "BAD_QUERY", "GROUP BY"),
        ("SELECT window(ts, '1 second') AS w FROM s GROUP BY k", "BAD_QUERY", "among the keys"),
        ("SELECT 1 FROM s GROUP BY window(ts)", "BAD_WINDOW", "constant length"),
        ("SELECT 1 FROM s GROUP BY window(ts, x)", "BAD_WINDOW", "constant length"),
        ("SELECT 1 FROM s GROUP BY session_window(ts, '1 month')", "BAD_WINDOW", "no fixed length"),
        ("SELECT 1 FROM s GROUP BY window(ts, '0 seconds')", "BAD_WINDOW", "above zero"),
        ("SELECT 1 FROM s [ROWS 3] GROUP BY window(ts, '1 second')", "BAD_QUERY", "in brackets"),
        ("SELECT sum(a) OVER w FROM s", "BAD_QUERY", "no window w"),
        (
            "SELECT 1 FROM s WINDOW w AS (PARTITION BY a), w AS (PARTITION BY b)",
            "BAD_QUERY",
            "two windows",
        ),
        (
            "SELECT sum(a) OVER (w ORDER BY b) FROM s WINDOW w AS (ORDER BY a)",
            "BAD_QUERY",
            "says anew",
        ),
    ],
)
def test_what_such_a_form_cannot_mean_is_refused(text: str, code: str, word: str) -> None:
    with pytest.raises(PenstockError) as refused:
        written(text)
    assert refused.value.code == code
    assert word in str(refused.value)
