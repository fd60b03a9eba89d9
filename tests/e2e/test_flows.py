"""Flows on Spark: whatever the template and wherever its sites run, they give what numpy gives."""

import json
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import PenstockError
from penstock.functions import Items, central, parallel, partition, pipe, rr_part, stream_function
from tests.e2e.support import figures, finish, rows_of

pytestmark = pytest.mark.spark

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
COUNT, LENGTH = 12, 32
SLEEP_SECONDS = 900  # far longer than anything takes; nobody waits for it
SETUP = """
CREATE STREAM TYPE timed (ts TIMESTAMP);
CREATE STREAM TYPE radio (x COMPLEX VECTOR, y FLOAT VECTOR) UNDER timed;
CREATE STREAM radio OF radio TIMESTAMP BY ts FROM push();
"""


def signals(count: int = COUNT) -> dict[str, Any]:
    rng = np.random.default_rng(7)
    real, imaginary, other = rng.standard_normal((3, count, LENGTH))
    return {
        "ts": [BEGIN + timedelta(seconds=at) for at in range(count)],
        "x": (real + 1j * imaginary).astype(np.complex64),
        "y": other.astype(np.float32),
    }


def push(ps: Connection, given: dict[str, Any], step: int = 5) -> None:
    for at in range(0, len(given["ts"]), step):
        ps.push("radio", {name: values[at : at + step] for name, values in given.items()})
    ps.end("radio")


def vectors(ps: Connection, query: str, column: str = "x") -> Any:
    return np.array([row[column] for row in ps.subscribe(query)])


FLOWS = {
    "whole": "central(fft3)",
    "split": "pcc(4, fft3_part, fft3, os_join(fft3_combine))",
    "distributed": "pcc(2, rr_part, fft3, s_merge)",
    "tree": "pcc(2, fft3_part, pcc(2, fft3_part, fft3, os_join(fft3_combine)), "
    "os_join(fft3_combine))",
}


def test_flows_give_what_numpy_gives_in_order(spark: SparkSession, tmp_path: Path) -> None:
    given = signals()
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(SETUP)
        for name, flow in FLOWS.items():
            ps.sql(f"CREATE QUERY {name} WITH (sites => 'driver') AS FLOW {flow} OVER radio")
        for name in ("split", "distributed"):
            text = f"CREATE QUERY {name}2 WITH (sites => 'workers') AS FLOW {FLOWS[name]}"
            told = ps.sql(f"{text} OVER radio").message
            assert ("4 branches share 2 slots" in told) == (name == "split")
        ps.script(
            "CREATE QUERY loud AS SELECT ts, x, octet_length(x) AS size FROM fft3(radio);"
            "CREATE QUERY counted AS SELECT count(*) AS n FROM split [RANGE 4 SECONDS];"
            "CREATE QUERY few AS FLOW central(fft3) OVER radio STOP AFTER 3 TUPLES;"
        )
        push(ps, given)
        finish(ps)
        expected = np.fft.fft(given["x"], axis=1)
        for name in (*FLOWS, "split2", "distributed2", "loud"):
            rows = list(ps.subscribe(name))
            assert [row["ts"] for row in rows] == given["ts"], name
            found = np.array([row["x"] for row in rows])
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4, err_msg=name)
        assert [row["n"] for row in ps.subscribe("counted")] == [4, 4, 4]
        assert {row["size"] for row in ps.subscribe("loud")} == {LENGTH * 8}
        assert len(list(ps.subscribe("few"))) == 3
        sites = rows_of(ps.sql("SHOW SITES split2").table)
        assert len({row["site"] for row in sites}) == 6  # one splits, four compute, one combines
        assert {row["phase"]: row["windows_in"] for row in sites} == {
            "partition": COUNT,
            "compute": COUNT,
            "combine": 4 * COUNT,
        }
        assert all(row["runs_by_workers"] and not row["runs_in_driver"] for row in sites)
        assert "flow pcc(4, fft3_part" in ps.sql("EXPLAIN split").message


def test_vectors_come_from_files_and_go_to_files(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    rows = [
        {"ts": "2026-03-01T00:00:00Z", "x": [[1, 2], [3, 4.5]], "y": [1.5, None]},
        {"ts": "2026-03-01T00:00:01Z", "x": [[1, 2], [3, -1]], "y": [0.5, 2]},
        {"ts": "2026-03-01T00:00:02Z", "x": [[1, 2, 3]], "y": [0.5, 2]},
        {"ts": "2026-03-01T00:00:03Z", "x": None, "y": []},
    ]
    (tmp_path / "in/a.json").write_text("\n".join(map(json.dumps, rows)))
    column = pa.array([[1.0, 2.0]], pa.list_(pa.float64()))
    table = pa.table({"ts": [BEGIN], "x": pa.array([[1.0, 2.0, 3.0, 4.0]]), "y": column})
    (tmp_path / "arrays").mkdir()
    pa.parquet.write_table(table, tmp_path / "arrays/a.parquet")
    source = "OF radio TIMESTAMP BY ts FROM files(path => '{}', format => '{}', bounded => true)"
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(
            f"{SETUP} DROP STREAM radio;"
            f"CREATE STREAM lines {source.format(tmp_path / 'in', 'json')};"
            f"CREATE STREAM arrays {source.format(tmp_path / 'arrays', 'parquet')};"
            f"CREATE QUERY p AS SELECT * FROM lines INTO files(path => '{tmp_path}/p', "
            "format => 'parquet');"
            f"CREATE QUERY j AS SELECT * FROM lines INTO files(path => '{tmp_path}/j');"
            "CREATE QUERY a AS SELECT * FROM arrays;"
        )
        finish(ps)
        ps.script(
            f"DROP QUERY p; CREATE STREAM again {source.format(tmp_path / 'p', 'parquet')};"
            "CREATE QUERY back AS SELECT * FROM again;"
        )
        finish(ps)
        first, second = ps.subscribe("back")
        np.testing.assert_array_equal(first["x"], np.array([1 + 2j, 3 - 1j], np.complex64))
        assert second["x"] is None
        assert second["y"].shape == (0,)
        (row,) = ps.subscribe("a")
        np.testing.assert_array_equal(row["x"], np.array([1 + 2j, 3 + 4j], np.complex64))
        text = "".join(part.read_text() for part in (tmp_path / "j").glob("part*"))
        assert json.loads(text.splitlines()[0])["x"] == [[1.0, 2.0], [3.0, -1.0]]
        rejected = rows_of(ps.sql("SELECT reason FROM lines.rejects").table)
        assert len(rejected) == 2


def test_the_generator_makes_vectors(spark: SparkSession, tmp_path: Path) -> None:
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(
            "CREATE STREAM g (ts TIMESTAMP, y FLOAT VECTOR, x COMPLEX VECTOR) TIMESTAMP BY ts "
            "FROM generator(rows => 3, paced => false, y => transform(sequence(0, 3), i -> i * n), "
            "x => transform(sequence(0, 1), i -> array(i, n)));"
            "CREATE QUERY q AS SELECT * FROM g;"
        )
        finish(ps)
        rows = list(ps.subscribe("q"))
        assert [row["y"].tolist() for row in rows] == [[0, n, 2 * n, 3 * n] for n in range(3)]
        assert [row["x"].tolist() for row in rows] == [[n * 1j, 1 + n * 1j] for n in range(3)]


@stream_function(over="items")
def picky(items: Items) -> Items:
    if (items["y"][:, 0] > 1).any():
        raise ValueError("too loud")
    return items


@stream_function(result="float vector")
def crooked(rows: Any) -> Any:
    return rows[:, :, None]


@stream_function(over="items")
def asleep(items: Items, *, branch: int) -> Items:
    if branch == 1:
        time.sleep(SLEEP_SECONDS)
    return items


def test_what_a_function_fails_on_is_held_and_the_rest_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    given = signals()
    bad = int((given["y"][:, 0] > 1).sum())
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(SETUP)
        for function in (picky, crooked, asleep):
            ps.register(function)
        for sites in ("driver", "workers"):
            options = f"WITH (sites => '{sites}') AS FLOW"
            ps.sql(
                f"CREATE QUERY good_{sites} {options} pcc(2, rr_part, picky, s_merge) OVER radio"
            )
        ps.script(
            "CREATE QUERY none AS FLOW crooked OVER radio;"
            "CREATE FUNCTION risky(s radio) RETURNS radio AS "
            "SELECT * FROM s WHERE 12 / (second(ts) - 4) < 100;"
            "CREATE QUERY divided AS FLOW pcc(2, rr_part, risky, s_merge) OVER radio;"
        )
        ps.sql(
            "CREATE QUERY waits WITH (sites => 'workers') AS "
            "FLOW pcc(2, rr_part, asleep(#), s_merge(0.5)) OVER radio"
        )
        push(ps, given, step=COUNT)
        finish(ps)
        assert bad
        for sites in ("driver", "workers"):
            assert len(list(ps.subscribe(f"good_{sites}"))) == COUNT - bad
            held = rows_of(ps.sql(f"SELECT * FROM good_{sites}.held").table)
            assert len(held) == bad
            assert {row["function"] for row in held} == {"picky"}
            assert "too loud" in held[0]["cause"]
            assert json.loads(held[0]["item"])["y"][0] > 1
        assert figures(ps, "none")["rows_out"] == 0
        assert len(rows_of(ps.sql("SELECT * FROM none.held").table)) == COUNT
        assert [row["ts"].second for row in ps.subscribe("divided")] == [0, 1, 2, 3, *range(5, 12)]
        (held,) = rows_of(ps.sql("SELECT * FROM divided.held").table)
        assert held["function"] == "risky"
        assert "zero" in held["cause"]
        lost = rows_of(ps.sql("SELECT * FROM waits.held").table)
        assert [row["kind"] for row in lost] == ["lost"] * (COUNT // 2)
        assert len(list(ps.subscribe("waits"))) == COUNT // 2


def test_functions_and_flows_come_back(spark: SparkSession, tmp_path: Path) -> None:
    given = signals()
    half = {name: values[:6] for name, values in given.items()}
    rest = {name: values[6:] for name, values in given.items()}
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(
            f"{SETUP} CREATE FUNCTION quiet(s radio, most DOUBLE) RETURNS radio AS "
            "SELECT * FROM s WHERE minute(ts) < most;"
            "CREATE QUERY piped AS FLOW pipe(fft3, quiet(5), magnitude) OVER radio;"
            "CREATE QUERY windows AS FLOW window_aggregate('mean', 3) OVER radio;"
            "CREATE STREAM TYPE tally (n BIGINT, first TIMESTAMP) UNDER timed;"
            "CREATE FUNCTION lately(s radio, span DOUBLE) RETURNS tally AS SELECT window_end AS ts,"
            "count(*) AS n, min(ts) AS first FROM timeWindow(s, span);"
            "CREATE QUERY newest AS SELECT * FROM radio;"
            "CREATE QUERY tallies AS SELECT * FROM lately(radio, 2);"
            "CREATE FUNCTION from_on(s radio, first INT) RETURNS radio AS "
            "SELECT ts, x, y FROM s WHERE second(ts) / 2 >= first;"
            "CREATE QUERY branched AS "
            "FLOW pcc(2, rr_part, pipe(fft3, from_on(#), quiet(1)), s_merge) OVER radio;"
        )
        ps.register(picky)
        ps.run(central(picky), over="radio", name="made")
        branches = pipe(partition(2, rr_part), parallel(2, picky))
        ps.run(branches, over="radio", name="odd", output=1)
        ps.push("radio", half)
    with penstock.connect(tmp_path / "home", spark=spark, functions=[picky]) as ps:
        assert "picky" in str(rows_of(ps.sql("SHOW FUNCTIONS").table))
        with pytest.raises(PenstockError) as refused:
            ps.sql("DROP FUNCTION quiet")
        assert refused.value.code == "IN_USE"
        ps.push("radio", rest)
        ps.end("radio")
        finish(ps)
        expected = np.abs(np.fft.fft(given["x"], axis=1))
        np.testing.assert_allclose(vectors(ps, "piped"), expected, rtol=1e-4, atol=1e-4)
        from_two = [0, *range(2, COUNT)]  # branch 0 begins with 0, branch 1 with 2 / 2
        assert [row["ts"].second for row in ps.subscribe("branched")] == from_two
        found = vectors(ps, "branched")
        np.testing.assert_allclose(np.abs(found), expected[from_two], rtol=1e-4, atol=1e-4)
        tallies = [(row["ts"], row["n"], row["first"]) for row in ps.subscribe("tallies")]
        assert tallies == [
            (time, len(inside), inside[0])
            for time in given["ts"]
            if (inside := [t for t in given["ts"] if time - timedelta(seconds=2) <= t <= time])
        ]
        check_once(ps, expected, tallies)
        fine = [t for t, y in zip(given["ts"], given["y"], strict=True) if y[0] <= 1]
        assert [row["ts"] for row in ps.subscribe("made")] == fine
        odd = [t for t in given["ts"][1::2] if t in fine]
        assert [row["ts"] for row in ps.subscribe("odd")] == odd
        assert len(list(ps.subscribe("windows"))) == COUNT // 3
        ps.script(
            "DROP QUERY piped; DROP QUERY branched; DROP FUNCTION quiet; DROP QUERY odd;"
            "DROP QUERY made;"
        )
        ps.sql("DROP FUNCTION picky")


def check_once(ps: Connection, expected: Any, tallies: list[Any]) -> None:
    """Functions give the same in a one-time SELECT, over what a query has given."""
    once = ps.sql("SELECT m.x FROM magnitude(fft3(newest)) AS m ORDER BY ts").table
    assert once is not None
    found = np.array([np.frombuffer(each.as_py(), np.float32) for each in once["x"]])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    again = rows_of(ps.sql("SELECT * FROM lately(quiet(newest, 5), 2) ORDER BY ts").table)
    assert [(row["ts"], row["n"], row["first"]) for row in again] == tallies
    with pytest.raises(PenstockError) as refused:
        ps.sql("SELECT * FROM picky(newest)")
    assert refused.value.code == "FUNCTION_FAILED"


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"x": np.zeros((2, 2, 2))}, "dimensions"),
        ({"x": ["a"]}, "elements"),
        ({"y": np.array([1j])}, "elements"),
        ({"x": b"123"}, "element"),
        ({"x": np.zeros(9_000_000, np.complex64)}, "64 MiB"),
    ],
)
def test_what_is_no_vector_is_refused(
    spark: SparkSession, tmp_path: Path, row: dict[str, Any], told: str
) -> None:
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(SETUP)
        with pytest.raises(PenstockError) as refused:
            ps.push("radio", [{"ts": BEGIN, **row}])
        assert refused.value.code == "BAD_ROW"
        assert told in str(refused.value)


REFUSED = {
    "CREATE STREAM t OF sonar FROM push()": "UNKNOWN_NAME",
    "CREATE STREAM t OF radio TIMESTAMP BY y FROM push()": "TYPE_MISMATCH",
    "CREATE STREAM TYPE radio (n INT)": "NAME_TAKEN",
    "CREATE STREAM TYPE loop UNDER loop": "CYCLE",
    "CREATE STREAM TYPE twice (ts TIMESTAMP) UNDER timed": "TYPE_MISMATCH",
    "DROP TYPE timed": "IN_USE",
    "DROP TYPE radio": "IN_USE",
    "DROP TYPE sonar": "UNKNOWN_NAME",
    "CREATE QUERY q AS FLOW fft3 OVER nothing": "UNKNOWN_NAME",
    "CREATE QUERY q AS FLOW fft3 OVER few": "BAD_QUERY",
    "CREATE QUERY q AS FLOW pcc(2, rr_part, grouped, s_merge) OVER radio": "NOT_YET",
    "CREATE QUERY q AS FLOW pcc(2, rr_part, newer('x'), s_merge) OVER radio": "TYPE_MISMATCH",
    "CREATE QUERY q WITH (sites => 'workers') AS "
    "FLOW pcc(2, rr_part, newer(1), s_merge) OVER radio": "BAD_FLOW",
    "CREATE QUERY q AS SELECT * FROM newer(radio)": "BAD_OPTION",
    "CREATE QUERY q AS SELECT * FROM fft3()": "BAD_QUERY",
    "CREATE QUERY q AS SELECT * FROM fft4(radio)": "UNKNOWN_FUNCTION",
    "CREATE QUERY q AS SELECT nothing FROM fft3(radio)": "UNKNOWN_COLUMN",
    "CREATE QUERY q AS SELECT * FROM xchannel(radio, ts)": "BAD_OPTION",
    "CREATE FUNCTION f(s sonar) RETURNS radio AS SELECT * FROM s": "UNKNOWN_NAME",
    "CREATE FUNCTION f(s radio) RETURNS radio AS SELECT ts, x FROM s": "TYPE_MISMATCH",
    "CREATE FUNCTION f(s radio) RETURNS radio AS SELECT q FROM s": "UNKNOWN_COLUMN",
    "CREATE FUNCTION f(s radio) RETURNS timed AS SELECT ts FROM timeWindow(s)": "BAD_QUERY",
    "CREATE FUNCTION f(s radio) RETURNS timed AS SELECT ts FROM timeWindow(s, -1)": "BAD_WINDOW",
    "CREATE FUNCTION fft3(s radio) RETURNS radio AS SELECT * FROM s": "NAME_TAKEN",
    "CREATE FUNCTION f USING 'os:system' VERSION 1": "BAD_QUERY",
    "DROP FUNCTION fft3": "UNKNOWN_FUNCTION",
    "SELECT * FROM fft3()": "BAD_QUERY",
    "SELECT * FROM fft3(3)": "BAD_QUERY",
    "SELECT * FROM fft3(few)": "BAD_QUERY",
    "SELECT * FROM fft4(radio)": "UNKNOWN_FUNCTION",
    "SELECT * FROM magnitude(fft3(nothing))": "BAD_QUERY",
    "SELECT * FROM xchannel(radio, 'q')": "UNKNOWN_COLUMN",
    "SELECT * FROM xchannel(radio, ts)": "BAD_OPTION",
    "SELECT * FROM rr_part(radio)": "BAD_FLOW",
    "SELECT * FROM newer(radio)": "BAD_OPTION",
    "SELECT * FROM grouped(radio)": "BAD_QUERY",
    "SELECT nothing FROM fft3(radio)": "UNKNOWN_COLUMN",
    "SHOW SITES nothing": "UNKNOWN_NAME",
}


def test_what_makes_no_sense_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "few.json").write_text('{"n": 1}\n')
    with penstock.connect(tmp_path / "home", spark=spark) as ps:
        ps.script(
            f"{SETUP} CREATE TABLE few FROM files(path => '{tmp_path}/few.json', format => 'json');"
            "CREATE FUNCTION newer(s radio, y INT) RETURNS radio AS SELECT * FROM s WHERE y > 1;"
            "CREATE FUNCTION grouped(s radio) RETURNS timed AS "
            "SELECT max(ts) AS ts FROM slidingWindow(s, 2);"
        )
        codes = {}
        for text in REFUSED:
            with pytest.raises(PenstockError) as refused:
                ps.sql(text)
            codes[text] = refused.value.code
        assert codes == REFUSED
        assert rows_of(ps.sql("DESCRIBE radio").table)[0]["note"] == "event time"
        assert rows_of(ps.sql("DESCRIBE newer").table)[0]["language"] == "sql"
        assert len(rows_of(ps.sql("SHOW TYPES").table)) == 4
