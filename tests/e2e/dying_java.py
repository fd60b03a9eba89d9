"""A Penstock in a process of its own, for tests that kill the Java under it; says what it meets."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import PenstockError
from tests.e2e.child import say
from tests.e2e.support import finish, results, rows_of
from tests.examples import IS_WHOLE

COUNT = 600
PUSHED = 100 if IS_WHOLE else 50
SCRIPT = f"""
    CREATE STREAM IF NOT EXISTS p (id INT) FROM push();
    CREATE STREAM IF NOT EXISTS g (ts TIMESTAMP, k INT) TIMESTAMP BY ts FROM generator(
        rows => {COUNT}, rate => 100, paced => false, rows_per_train => 10, k => n % 3,
        start => TIMESTAMP '2026-01-01');
    CREATE QUERY IF NOT EXISTS ids AS SELECT id FROM p WHERE id % 2 = 0;
    CREATE QUERY IF NOT EXISTS low AS SELECT id FROM p WHERE id < 1 + CAST(id AS DOUBLE) / 2;
    CREATE QUERY IF NOT EXISTS sums AS
        SELECT window_start, k, count(*) AS n FROM g [RANGE 1 SECOND] GROUP BY k;
    CREATE QUERY IF NOT EXISTS fired AS SELECT id FROM noted;
    CREATE RULE IF NOT EXISTS note ON p WHEN id % 5 = 0 AND sqrt(id) >= 0
        DO INSERT INTO noted SELECT id;
"""
NOTED = "CREATE STREAM IF NOT EXISTS noted (id INT) FROM push();"


def kill_java() -> None:
    """Kill the Java of this process."""
    gateway = SparkContext._gateway
    assert gateway is not None
    os.kill(gateway.proc.pid, signal.SIGKILL)


def code_of(call: Callable[..., object], *arguments: object) -> str:
    """Return the code of what a call raises."""
    try:
        call(*arguments)
    except PenstockError as error:
        return error.code
    return "nothing"


def meet_death(ps: Connection) -> None:
    """Say what everybody meets who is there when Java dies."""
    subscription = ps.subscribe("ids", after=None)
    kill_java()
    say("wait", code_of(ps.wait))
    say("subscription", code_of(list, subscription))  # after what came before
    say("sql", code_of(ps.sql, "CREATE STREAM x (n INT) FROM push()"))
    say("push", code_of(ps.push, "p", [{"id": 2}]))
    states = {row["state"] for row in rows_of(ps.sql("SHOW QUERIES").table)}
    say("states", *sorted(states))
    say("rules", *(row["state"] for row in rows_of(ps.sql("SHOW RULES").table)))


def main(home: Path) -> None:
    """Die under a Java of our own, in the nightly run twice, and once under the caller's."""
    for first in range(0, PUSHED, 50):
        with penstock.connect(home, master="local[2]") as ps:
            ps.sql(NOTED + SCRIPT)
            ps.push("p", [{"id": first + number} for number in range(50)])
            meet_death(ps)
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    with penstock.connect(home, spark=spark.getOrCreate()) as ps:
        dead = SparkContext._gateway
        meet_death(ps)
    say("kept", SparkContext._gateway is dead)
    with penstock.connect(home, master="local[2]") as ps:
        ps.end("p")
        finish(ps)
        for query, column in (("ids", "id"), ("low", "id"), ("fired", "id"), ("sums", "n")):
            say(query, *sorted(results(ps, query)[column].to_pylist()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
