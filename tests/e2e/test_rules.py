"""Rules on real Spark: conditions, actions, couplings, priorities, cascades and limits."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.clock import HandClock
from penstock.errors import PenstockError
from penstock.runtime.views.relations.rules import RULES
from tests.e2e.support import PATIENCE, leave_alone, results, rows_of, until

pytestmark = pytest.mark.spark

TEXT = ("TYPE_MISMATCH", "CAST")
HOUSE = """
CREATE STREAM house (ts TIMESTAMP, room STRING, temp DOUBLE) FROM push() TIMESTAMP BY ts;
CREATE STREAM alarms (ts TIMESTAMP, room STRING, temp DOUBLE) FROM push() TIMESTAMP BY ts;
CREATE QUERY warm AS SELECT ts, room, temp FROM house WHERE temp > 20;
CREATE QUERY seen AS SELECT ts, room, temp FROM alarms;
"""


@pytest.fixture
def ps(spark: SparkSession, tmp_path: Path) -> Iterator[Connection]:
    with penstock.connect(tmp_path / "home", spark=spark) as connection:
        connection.script(HOUSE)
        yield connection


def reading(second: int, room: str, temp: float) -> dict[str, Any]:
    return {"ts": f"2026-01-01T00:00:{second:02}Z", "room": room, "temp": temp}


def rule(ps: Connection, name: str) -> dict[str, Any]:
    return next(row for row in rows_of(ps.sql("SHOW RULES").table) if row["rule"] == name)


def rooms(ps: Connection, query: str = "seen") -> list[str]:
    return [row["room"] for row in results(ps, query).to_pylist()]


def test_a_rule_on_a_query_inserts_what_fulfils_its_condition_and_goes_on_after_a_restart(
    ps: Connection, spark: SparkSession, tmp_path: Path
) -> None:
    ps.sql(
        "CREATE RULE hot ON warm WHEN temp > 60 "
        "DO INSERT INTO alarms SELECT temp * 2 AS temp, concat(room, '!') AS room"
    )
    ps.push("house", [reading(1, "attic", 61), reading(2, "hall", 25), reading(3, "bath", 10)])
    until(ps, lambda: len(rooms(ps)) == 1)
    assert results(ps, "seen").to_pylist()[0]["temp"] == 122
    assert rooms(ps) == ["attic!"]
    until(ps, lambda: rule(ps, "hot")["done"] == 1)
    told = rule(ps, "hot")
    assert (told["fired"], told["waiting"], told["dead"], told["state"]) == (1, 0, 0, "ENABLED")
    ps.close()
    with penstock.connect(tmp_path / "home", spark=spark) as again:
        again.push("house", [reading(4, "roof", 70)])
        until(again, lambda: len(rooms(again)) == 2)
        assert rule(again, "hot")["fired"] == 2
        again.sql("ALTER RULE hot DISABLE")
        again.push("house", [reading(5, "cellar", 70)])
        until(again, lambda: len(rooms(again, "warm")) == 4)
        again.sql("ALTER RULE hot ENABLE")
        again.push("house", [reading(6, "shed", 70)])
        until(again, lambda: len(rooms(again)) == 3)
        assert rooms(again) == ["attic!", "roof!", "shed!"]


class Heard:
    """Functions for rules to CALL; remembers who was called, with which rooms, in which order."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, list[str]]] = []
        self.keys: list[str] = []

    def named(self, name: str) -> Callable[[pa.Table, str], None]:
        def function(rows: pa.Table, key: str) -> None:
            self.keys.append(key)  # first: who sees a call may look for its key
            self.calls.append((name, rows["room"].to_pylist()))

        return function

    def delivered(self, rows: pa.Table, number: int) -> None:
        self.calls.append(("delivered", rows["room"].to_pylist()))


def test_couplings_and_priorities_order_what_one_train_leads_to(ps: Connection) -> None:
    heard = Heard()
    for name in ("low", "high", "after", "first"):
        ps.action(name, heard.named(name))
    ps.callback("warm", heard.delivered)
    ps.script(
        """
        CREATE RULE a COUPLING immediate PRIORITY 1 ON warm DO CALL low;
        CREATE RULE b COUPLING immediate PRIORITY 9 ON warm WHEN temp > 40 DO CALL high, CALL first;
        CREATE RULE c COUPLING deferred ON warm DO CALL after;
        """
    )
    ps.push("house", [reading(1, "attic", 50), reading(2, "hall", 30)])
    until(ps, lambda: len(heard.calls) == 5)
    both = ["attic", "hall"]
    assert heard.calls == [
        ("high", ["attic"]),
        ("first", ["attic"]),
        ("low", both),
        ("delivered", both),
        ("after", both),
    ]
    assert len(set(heard.keys)) == 4


def test_a_hanging_action_of_a_detached_rule_holds_nobody_and_ends_as_a_dead_letter(
    ps: Connection,
) -> None:
    heard, release, back = Heard(), threading.Event(), list[bool]()
    ps.action("quick", heard.named("quick"))
    ps.action("hangs", lambda *_: back.append(release.wait(PATIENCE)))
    ps.script(
        """
        CREATE RULE slow ON warm DO CALL hangs
          WITH (timeout => INTERVAL 200 MILLISECONDS, retries => 1);
        CREATE RULE quick ON warm DO CALL quick;
        """
    )
    ps.push("house", [reading(1, "attic", 50)])
    until(ps, lambda: heard.calls == [("quick", ["attic"])] and len(rooms(ps, "warm")) == 1)
    until(ps, lambda: rule(ps, "slow")["dead"] == 1)
    told = rule(ps, "slow")
    assert (told["failures"], told["waiting"]) == (2, 0)
    letters = rows_of(ps.sql("SELECT * FROM slow.dead").table)
    assert "attic" in letters[0]["tuple"]
    assert letters[0]["action"] == "CALL hangs"
    key = letters[0]["key"]
    ps.action("hangs", heard.named("mended"))
    release.set()
    until(ps, lambda: bool(back))  # the one that hung is about to come back

    def retried() -> bool:
        if rule(ps, "slow")["dead"]:
            ps.sql("RETRY RULE slow")
        return bool(rule(ps, "slow")["done"])

    until(ps, retried)
    assert heard.calls[-1] == ("mended", ["attic"])
    assert heard.keys[-1] == key
    assert rows_of(ps.sql("SELECT * FROM slow.dead").table) == []


def test_an_action_that_raises_is_tried_again_and_ends_as_a_dead_letter_with_its_cause(
    ps: Connection,
) -> None:
    heard = Heard()
    tries: list[str] = []

    def broken(_: pa.Table, key: str) -> None:
        tries.append(key)
        raise ValueError("no such pager")

    ps.action("broken", broken)
    ps.action("next", heard.named("next"))
    ps.sql(
        "CREATE RULE page COUPLING immediate ON warm DO CALL broken, CALL next, "
        "INSERT INTO alarms SELECT room, CAST(room AS INT) AS temp "
        "WITH (retries => 2, backoff => INTERVAL 10 MILLISECONDS)"
    )
    ps.push("house", [reading(1, "attic", 50)])
    until(ps, lambda: rule(ps, "page")["dead"] == 2)
    assert len(tries) == 3
    assert len(set(tries)) == 1
    assert heard.calls == [("next", ["attic"])]
    until(ps, lambda: rooms(ps, "warm") == ["attic"])
    letters = rows_of(ps.sql("SELECT action, tries, cause FROM page.dead").table)
    causes = {row["action"].partition(" ")[0]: row["cause"] for row in letters}
    assert causes["CALL"] == "ACTION_FAILED: action broken raised ValueError: no such pager"
    assert causes["INSERT"].startswith("RUN_FAILED")
    assert sorted(row["tries"] for row in letters) == [1, 3]  # the cast fails each time
    assert rule(ps, "page")["state"] == "ENABLED"


def test_rules_on_tables_and_with_conditions_that_fail_stand_beside_others(
    ps: Connection, tmp_path: Path
) -> None:
    heard = Heard()
    (tmp_path / "kept.csv").write_text("room\nattic\n")
    ps.action("told", heard.named("told"))
    ps.script(
        f"""
        CREATE TABLE kept (room STRING) FROM files(path => '{tmp_path}/kept.csv', format => 'csv');
        CREATE RULE known ON warm WHEN room IN (SELECT room FROM kept) DO CALL told;
        CREATE RULE fails ON warm WHEN 100 / (temp - 50) > 1 DO CALL told;
        CREATE RULE large ON warm WHEN temp > 45 DO CALL told;
        CREATE RULE narrow ON warm WHEN temp BETWEEN 46 AND 48 OR room = 'hall' DO CALL told;
        """
    )
    ps.push("house", [reading(1, "attic", 50), reading(2, "hall", 30), reading(3, "bath", 47)])
    until(ps, lambda: len(heard.calls) == 3)
    assert sorted(each for _, each in heard.calls) == [
        ["attic"],
        ["attic", "bath"],
        ["hall", "bath"],
    ]
    until(ps, lambda: rule(ps, "fails")["dead"] == 1)
    told = rule(ps, "fails")
    assert told["state"] == "ENABLED"
    assert "zero" in told["cause"].lower()


def test_a_tuple_that_fails_takes_no_other_with_it_and_can_be_retried(
    ps: Connection, spark: SparkSession, tmp_path: Path
) -> None:
    ps.script(
        """
        CREATE RULE split ON warm WHEN 100 / (temp - 50) > 1 OR room = 'late'
          DO INSERT INTO alarms SELECT room, 10 / (temp - 60) AS temp;
        """
    )
    temps = [51, 52, 50, 60, 53, 50, 60, 54]
    ps.push("house", [reading(at, f"r{at}", temp) for at, temp in enumerate(temps)])
    until(ps, lambda: sorted(rooms(ps)) == ["r0", "r1", "r4", "r7"])
    until(ps, lambda: rule(ps, "split")["dead"] == 4)
    letters = rows_of(ps.sql("SELECT action, cause, tuple FROM split.dead").table)
    failed = sorted((row["action"].split()[0], json.loads(row["tuple"])["room"]) for row in letters)
    assert failed == [("INSERT", "r3"), ("INSERT", "r6"), ("WHEN", "r2"), ("WHEN", "r5")]
    assert all("zero" in row["cause"].lower() for row in letters)
    ps.push("house", [reading(20, "late", 70)])
    until(ps, lambda: "late" in rooms(ps))
    assert rule(ps, "split")["state"] == "ENABLED"
    ps.sql("RETRY RULE split")  # they fail again, and nothing is inserted twice
    until(ps, lambda: rule(ps, "split")["dead"] == 4 and rule(ps, "split")["waiting"] == 0)
    ps.close()
    with penstock.connect(tmp_path / "home", spark=spark) as again:
        again.push("house", [reading(30, "next", 70)])
        until(again, lambda: "next" in rooms(again))
        assert sorted(rooms(again)) == ["late", "next", "r0", "r1", "r4", "r7"]
        told = rule(again, "split")
        assert (told["fired"], told["dead"], told["state"]) == (8, 4, "ENABLED")


def test_dead_letters_of_a_condition_are_asked_again_when_they_are_retried(
    ps: Connection, tmp_path: Path
) -> None:
    table = tmp_path / "limits"
    table.mkdir()
    pq.write_table(pa.table({"least": [0]}), table / "a.parquet")
    ps.script(
        f"""
        CREATE TABLE limits (least BIGINT) FROM files(path => '{table}', format => 'parquet');
        CREATE RULE above ON warm WHEN temp / (SELECT max(least) FROM limits) > 1
          DO INSERT INTO alarms SELECT room, temp;
        """
    )
    ps.push("house", [reading(1, "attic", 50), reading(2, "hall", 25)])
    until(ps, lambda: rule(ps, "above")["dead"] == 2)
    assert rule(ps, "above")["state"] == "ENABLED"
    pq.write_table(pa.table({"least": [40]}), table / "b.parquet")
    until(ps, lambda: rows_of(ps.sql("SELECT max(least) m FROM limits").table) == [{"m": 40}])
    ps.sql("RETRY RULE above")
    until(ps, lambda: rooms(ps) == ["attic"])
    until(ps, lambda: rule(ps, "above")["waiting"] == 0)
    told = rule(ps, "above")
    assert (told["fired"], told["done"], told["dead"]) == (1, 1, 0)


def test_an_event_that_cannot_run_is_told_by_its_rules(ps: Connection) -> None:
    heard = Heard()
    ps.action("told", heard.named("told"))
    ps.script(
        """
        CREATE EVENT numbered AS SELECT room, CAST(room AS INT) AS number FROM house;
        CREATE RULE counts ON numbered WHEN number > 1 DO CALL told;
        """
    )
    ps.push("house", [reading(1, "2", 50)])
    until(ps, lambda: heard.calls == [("told", ["2"])])
    ps.push("house", [reading(2, "attic", 50)])
    until(ps, lambda: "its event is held" in rule(ps, "counts")["cause"])
    assert rule(ps, "counts")["state"] == "ENABLED"
    ps.sql("ALTER RULE counts ENABLE")  # it fails again, and is told again
    until(ps, lambda: "its event is held" in rule(ps, "counts")["cause"])
    ps.sql("DROP RULE counts")


def test_a_rule_may_stop_and_start_queries_and_other_rules(ps: Connection) -> None:
    ps.script(
        """
        CREATE RULE other ON warm DO INSERT INTO alarms SELECT room, temp;
        CREATE RULE off COUPLING immediate ON house WHEN temp > 90
          DO STOP QUERY warm, ALTER RULE other DISABLE;
        CREATE RULE back ON house WHEN temp < 0 DO START QUERY warm, ALTER RULE other ENABLE;
        """
    )

    def state(query: str) -> str:
        shown = rows_of(ps.sql("SHOW QUERIES").table)
        return next(str(row["state"]) for row in shown if row["query"] == query)

    ps.push("house", [reading(1, "attic", 91)])
    until(ps, lambda: state("warm") == "STOPPED" and rule(ps, "other")["state"] == "DISABLED")
    ps.push("house", [reading(2, "attic", -1)])
    until(ps, lambda: state("warm") == "RUNNING" and rule(ps, "other")["state"] == "ENABLED")
    ps.push("house", [reading(3, "attic", 30)])
    until(ps, lambda: "attic" in rooms(ps, "warm"))


def test_a_rule_may_alter_a_query_that_others_read_and_a_restart_remembers_it(
    ps: Connection, spark: SparkSession, tmp_path: Path
) -> None:
    def promised(ps: Connection) -> list[tuple[Any, ...]]:
        rows = rows_of(ps.sql("SHOW QOS").table)
        return [(row["query"], row["max_latency_ms"], row["weight"]) for row in rows]

    ps.script(
        """
        CREATE QUERY above AS SELECT ts, room FROM warm;
        CREATE RULE busy COUPLING immediate ON house WHEN temp > 90
          DO ALTER QUERY warm SET (max_latency => INTERVAL 1500 MILLISECONDS, weight => 3),
             ALTER QUERY above SET (priority => 9);
        """
    )
    leave_alone(ps)
    live, root = ps.system.topology.queries["warm"], ps.system.directory.query("warm").root
    assert promised(ps) == []
    ps.push("house", [reading(1, "attic", 91), reading(2, "hall", 92)])
    until(ps, lambda: rule(ps, "busy")["done"] == 4)
    assert promised(ps) == [("warm", 1500.0, 3.0)]
    assert ps.system.topology.queries["warm"] is live
    assert ps.system.directory.query("warm").root is root
    with ps.system.supervisor.resting():
        seen = ps.system.supervisor.statistics.observation(ps.system.topology, 0.0).queries
    assert (seen["warm"].weight, seen["above"].priority) == (3.0, 9)
    assert ps.sql("ALTER QUERY above SET (priority => 9)").message.endswith("already")
    ps.push("house", [reading(3, "cellar", 30)])
    until(ps, lambda: rooms(ps, "above") == ["attic", "hall", "cellar"])
    ps.sql("ALTER QUERY warm SET (max_latency => INTERVAL 9 SECONDS)")
    assert rows_of(ps.sql("SHOW QOS").table)[0]["verdict"] == "warming"
    ps.close()
    with penstock.connect(tmp_path / "home", spark=spark) as again:
        leave_alone(again)
        assert promised(again) == [("warm", 9000.0, 3.0)]
        again.push("house", [reading(4, "bath", 30)])
        until(again, lambda: rooms(again, "above") == ["attic", "hall", "cellar", "bath"])
        again.sql("ALTER QUERY warm SET (max_latency => NULL)")
        assert promised(again) == []


def test_a_cascade_goes_on_to_its_limit_and_its_loop_is_told(ps: Connection) -> None:
    said = ps.sql("CREATE RULE echo ON seen DO RAISE alarms(room, temp + 1)").message
    assert "echo -> alarms -> echo" in said
    ps.push("alarms", [reading(1, "attic", 0)])
    until(ps, lambda: rule(ps, "echo")["dead"] == 1)
    until(ps, lambda: len(rooms(ps)) >= 17)
    temps = [row["temp"] for row in results(ps, "seen").to_pylist()]
    assert temps == [float(n) for n in range(17)]
    told = rule(ps, "echo")
    assert (told["held_back"], told["done"]) == (1, 16)
    assert "loop" in told["cause"]


def test_a_rate_holds_back_what_is_above_it_and_says_so(
    spark: SparkSession, tmp_path: Path
) -> None:
    heard, clock = Heard(), HandClock(1000.0)
    with penstock.connect(tmp_path / "home", spark=spark, clock=clock) as ps:
        ps.script(HOUSE)
        ps.action("told", heard.named("told"))
        ps.sql("CREATE RULE now COUPLING immediate ON warm DO CALL told WITH (rate => 2)")
        ps.sql("CREATE RULE later ON warm DO CALL told WITH (rate => 20)")
        ps.push("house", [reading(n, f"r{n}", 50) for n in range(30)])
        until(ps, lambda: rule(ps, "later")["held_back"] > 0 and rule(ps, "now")["dead"] == 28)
        assert (rule(ps, "now")["done"], rule(ps, "now")["held_back"]) == (2, 28)
        assert (rule(ps, "later")["done"], rule(ps, "later")["held_back"]) == (20, 10)
        clock.sleep(0.25)
        until(ps, lambda: rule(ps, "later")["done"] == 25)
        clock.sleep(1)
        until(ps, lambda: rule(ps, "later")["done"] == 30)
        assert rule(ps, "later")["held_back"] == 10
        assert sum(len(each) for _, each in heard.calls) == 32


@pytest.mark.parametrize(
    ("statement", "code", "says"),
    [
        ("CREATE RULE r ON nothing DO STOP QUERY warm", "UNKNOWN_NAME", "nothing"),
        ("CREATE RULE r ON warm WHEN tmp > 1 DO STOP QUERY warm", "UNKNOWN_COLUMN", "temp"),
        ("CREATE RULE r ON warm WHEN temp DO STOP QUERY warm", "TYPE_MISMATCH", "boolean"),
        ("CREATE RULE r ON warm DO STOP QUERY cold", "UNKNOWN_NAME", "cold"),
        ("CREATE RULE r ON warm DO ALTER RULE none ENABLE", "UNKNOWN_NAME", "none"),
        ("CREATE RULE r ON warm DO CALL nobody", "UNKNOWN_NAME", "nobody"),
        ("CREATE RULE r ON warm DO INSERT INTO nowhere SELECT room", "UNKNOWN_NAME", "nowhere"),
        ("CREATE RULE r ON warm DO INSERT INTO warm SELECT room", "BAD_QUERY", "push"),
        ("CREATE RULE r ON warm DO INSERT INTO alarms SELECT room", "BAD_QUERY", "3 columns"),
        ("CREATE RULE r ON warm DO INSERT INTO alarms SELECT rom, temp", "UNKNOWN_COLUMN", "rom"),
        ("CREATE RULE r ON warm DO INSERT INTO alarms SELECT room, temp + 1", "BAD_QUERY", "name"),
        ("CREATE RULE r ON warm DO INSERT INTO alarms SELECT 'x', temp", "BAD_QUERY", "value 1"),
        (
            "CREATE RULE r ON warm DO INSERT INTO alarms SELECT room AS who, temp",
            "BAD_QUERY",
            "who",
        ),
        ("CREATE RULE r ON warm DO INSERT INTO alarms SELECT room, room AS temp", *TEXT),
        ("CREATE RULE r ON warm DO INSERT INTO alarms (temp) SELECT room", *TEXT),
        ("CREATE RULE r ON warm DO RAISE alarms(room, room)", *TEXT),
        ("CREATE RULE r ON warm DO INSERT INTO alarms (room) SELECT room, temp", "SQL_SYNTAX", "2"),
        ("CREATE RULE r ON warm DO INSERT INTO alarms (a) SELECT room", "BAD_QUERY", "column a"),
        ("CREATE RULE r ON warm DO INSERT INTO alarms SELECT room, temp, temp", "BAD_QUERY", "two"),
        ("CREATE RULE r ON warm DO RAISE alarms(room)", "BAD_QUERY", "3 columns"),
        ("CREATE RULE r ON warm DO RAISE alarms(room, array(1))", "TYPE_MISMATCH", ""),
        ("CREATE RULE r ON warm DO webhook(url => 'file:///etc/passwd')", "BAD_OPTION", "http"),
        ("CREATE RULE r ON warm DO webhook(url => 'http://u:p@x/')", "BAD_OPTION", "password"),
        ("CREATE RULE r ON warm DO webhook()", "BAD_OPTION", "url"),
        ("CREATE RULE r ON warm DO webhook(url => 'http://x/?a=1&API_KEY=7')", "BAD_OPTION", "KEY"),
        ("CREATE RULE r ON warm DO webhook(url => 'http://x/?token=')", "BAD_OPTION", "token"),
        ("CREATE RULE r ON warm DO webhook(url => 'http://127.0.0.1/')", "NOT_ALLOWED", "hosts"),
        ("CREATE RULE r ON warm DO command(program => '/bin/sh')", "NOT_ALLOWED", "allow"),
        ("CREATE RULE r ON warm DO command(program => 'sh')", "BAD_OPTION", "path"),
        ("CREATE RULE r ON warm DO ALTER QUERY none SET (weight => 2)", "UNKNOWN_NAME", "none"),
        ("CREATE RULE r ON warm DO ALTER QUERY warm SET (max_error => 0.1)", "BAD_OPTION", "max_"),
        ("ALTER QUERY warm SET (max_error => 0.1)", "BAD_OPTION", "max_error"),
        ("ALTER QUERY house SET (weight => 2)", "UNKNOWN_NAME", "query house"),
        ("ALTER RULE r ENABLE", "UNKNOWN_NAME", "rule r"),
        ("RETRY RULE r", "UNKNOWN_NAME", "rule r"),
        ("DROP RULE r", "UNKNOWN_NAME", "rule r"),
    ],
)
def test_what_is_wrong_with_a_rule_is_told(
    ps_once: Connection, statement: str, code: str, says: str
) -> None:
    with pytest.raises(PenstockError) as caught:
        ps_once.sql(statement)
    assert caught.value.code == code
    assert says in str(caught.value)
    assert caught.value.place is not None


@pytest.fixture(scope="module")
def ps_once(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    with penstock.connect(tmp_path_factory.mktemp("bad") / "home", spark=spark) as connection:
        connection.script(HOUSE)
        yield connection
        assert rows_of(connection.sql("SHOW RULES").table) == []


def test_what_a_rule_needs_cannot_be_dropped_and_rules_can_be_replaced(ps: Connection) -> None:
    ps.sql("CREATE RULE hot ON warm DO INSERT INTO alarms SELECT room, temp")
    for statement in ("DROP QUERY warm", "DROP STREAM alarms"):
        with pytest.raises(PenstockError) as caught:
            ps.sql(statement)
        assert caught.value.code == "IN_USE"
    again = "CREATE RULE IF NOT EXISTS hot ON warm DO STOP QUERY warm"
    assert "left as it is" in ps.sql(again).message
    with pytest.raises(PenstockError) as taken:
        ps.sql("CREATE RULE hot ON warm DO STOP QUERY warm")
    assert taken.value.code == "NAME_TAKEN"
    ps.sql(
        "CREATE OR REPLACE RULE hot PRIORITY 7 ON warm WHEN temp > 40 "
        "DO INSERT INTO alarms SELECT room, temp"
    )
    parts = {row["part"]: row["value"] for row in rows_of(ps.sql("DESCRIBE RULE hot").table)}
    assert parts["condition"] == "temp > 40"
    assert parts["priority"] == "7"
    ps.push("house", [reading(1, "attic", 50), reading(2, "hall", 30)])
    until(ps, lambda: rooms(ps) == ["attic"])
    ps.sql("DROP RULE hot")
    assert rows_of(ps.sql("SHOW RULES").table) == []


def test_rules_on_one_event_see_it_each_in_a_consumption_mode_of_its_own(ps: Connection) -> None:
    heard = Heard()
    for name in ("chronicle", "recent", "first"):
        ps.action(name, heard.named(name))
    ps.script(
        """
        CREATE STREAM smoke_alarms (ts TIMESTAMP, room STRING, level INT)
          FROM push() TIMESTAMP BY ts;
        CREATE EVENT smoke AS SELECT room, level FROM smoke_alarms;
        CREATE EVENT hot AS SELECT room, temp MASK temp > 40 FROM warm;
        CREATE EVENT smoke_then_hot AS SELECT h.room, h.temp FROM (smoke s SEQ hot h)
          WHERE s.room = h.room WITHIN INTERVAL 5 MINUTES;
        CREATE RULE pairs CONTEXT chronicle PRIORITY 9 ON smoke_then_hot WHEN temp > 50
          DO CALL chronicle, INSERT INTO alarms SELECT room, temp;
        CREATE RULE latest COUPLING immediate ON smoke_then_hot WHEN temp > 50 DO CALL recent;
        CREATE RULE plain ON hot WHEN temp > 50 DO CALL first;
        """
    )
    ps.push("smoke_alarms", [{"ts": "2026-01-01T00:00:01Z", "room": "attic", "level": 1}])
    ps.push("house", [reading(2, "attic", 61), reading(3, "attic", 62), reading(4, "hall", 60)])
    ps.push("smoke_alarms", [{"ts": "2026-01-01T00:00:09Z", "room": "hall", "level": 1}])
    ps.push("house", [reading(9, "bath", 10)])
    until(ps, lambda: len(rooms(ps)) == 1 and rule(ps, "latest")["done"] == 2)
    until(ps, lambda: rule(ps, "plain")["done"] == 3)
    assert rooms(ps) == ["attic"]
    told = [each for name, some in heard.calls if name == "recent" for each in some]
    assert told == ["attic", "attic"]
    assert rule(ps, "pairs")["context"] == "chronicle"
    with pytest.raises(PenstockError) as caught:
        ps.sql("DROP EVENT smoke_then_hot")
    assert caught.value.code == "IN_USE"
    modes = {row["mode"] for row in rows_of(ps.sql("SHOW EVENTS").table)}
    assert {"chronicle", "recent"} <= modes


REFERENCE = Path(__file__).parents[2] / "docs/reference/rules.md"


def test_every_statement_of_the_reference_runs_as_it_stands(
    spark: SparkSession, tmp_path: Path
) -> None:
    blocks = re.findall(r"```sql\n(.*?)```", REFERENCE.read_text(), re.DOTALL)
    (python,) = re.findall(r"```python\n(.*?)```", REFERENCE.read_text(), re.DOTALL)
    assert len(blocks) == 5
    with penstock.connect(tmp_path / "home", spark=spark, hosts=["127.0.0.1:9"]) as ps:
        for block in blocks:
            ps.script(block)
        exec(python, {"ps": ps})
        rules = {row["rule"] for row in rows_of(ps.sql("SHOW RULES").table)}
        assert rules == {"evacuate", "page", "twice", "unusual"}
        columns = re.findall(
            r"^\| (`.*) \|", REFERENCE.read_text().partition("SHOW RULES`")[2], re.M
        )
        named = {name for each in columns for name in re.findall(r"`(\w+)`", each)}
        assert named <= set(RULES.columns.names)


@pytest.mark.parametrize("form", ["json", "csv", "parquet"])
def test_what_a_rule_inserts_into_a_table_is_joined_from_then_on(
    ps: Connection, tmp_path: Path, form: str
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    if form == "parquet":
        pq.write_table(pa.table({"room": ["cellar"], "n": [7]}), kept / "first.parquet")
    columns = "(room STRING, n BIGINT)"
    ps.script(
        f"""
        CREATE TABLE kept {columns} FROM files(path => '{kept}', format => '{form}');
        CREATE RULE keep ON warm WHEN room NOT IN (SELECT room FROM kept) AND temp > 40
          DO INSERT INTO kept SELECT room, temp AS n;
        """
    )
    before = len(list(kept.iterdir()))
    ps.push("house", [reading(1, "attic, 1", 50.9), reading(2, "hall", 30)])
    until(ps, lambda: rule(ps, "keep")["done"] == 1)
    found = "SELECT n FROM kept WHERE room = 'attic, 1'"
    until(ps, lambda: rows_of(ps.sql(found).table) == [{"n": 50}])
    ps.push("house", [reading(3, "attic, 1", 60), reading(4, "bath", 41)])
    until(ps, lambda: rule(ps, "keep")["done"] == 2)
    assert len(list(kept.iterdir())) == before + 2
    with pytest.raises(PenstockError) as caught:
        ps.sql("CREATE RULE raises ON warm DO RAISE kept(room, 1)")
    assert caught.value.code == "BAD_QUERY"


def test_nothing_can_be_added_to_a_table_that_is_one_file(ps: Connection, tmp_path: Path) -> None:
    (tmp_path / "kept.csv").write_text("room\nattic\n")
    ps.sql(f"CREATE TABLE kept FROM files(path => '{tmp_path}/kept.csv', format => 'csv')")
    with pytest.raises(PenstockError) as caught:
        ps.sql("CREATE RULE r ON warm DO INSERT INTO kept SELECT room")
    assert caught.value.code == "BAD_QUERY"
