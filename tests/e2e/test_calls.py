"""Calls from Python with values of another type: an error with a code, whatever the call."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection
from penstock.errors import PenstockError
from penstock.functions import stream_function
from tests.e2e.support import rows_of, until

pytestmark = pytest.mark.spark

SCRIPT = """
CREATE STREAM s (n INT, t STRING) FROM push();
CREATE QUERY q AS SELECT n, t FROM s;
"""


@stream_function
def doubled(item: float) -> float:
    """Return twice the item."""
    return 2 * item


def nothing(*given: object) -> object:
    """Give the first thing back."""
    return given[0]


# What each public call takes. A call that is new has to be put here.
CALLS: dict[str, dict[str, Any]] = {
    "begin": {},
    "sql": {"text": "SHOW STREAMS"},
    "script": {"text": "SHOW STREAMS", "approve": lambda: None},
    "push": {"stream": "s", "rows": []},
    "push_once": {"stream": "s", "rows": [], "key": "k", "fingerprint": b""},
    "end": {"stream": "nobody"},
    "punctuate": {"stream": "s", "condition": "n = 1"},
    "aggregate": {
        "name": "most",
        "init": lambda: 0,
        "update": nothing,
        "merge": max,
        "finish": lambda state: state,
        "takes": ["int"],
        "state": "int",
        "returns": "int",
        "deterministic": True,
    },
    "register": {"function": doubled},
    "run": {
        "flow": doubled,
        "over": "s",
        "name": "f",
        "into": "memory()",
        "output": None,
        "sites": "auto",
    },
    "perspective": {"name": "p"},
    "subscribe": {"query": "q", "after": (0, 0), "max_rows": 10},
    "callback": {"query": "q", "function": nothing},
    "action": {"name": "a", "function": nothing},
    "tap": {"function": nothing},
    "wait": {"timeout": 0.0},
    "close": {},
}
WRONG: tuple[Any, ...] = (
    None,
    5,
    0.5,
    float("nan"),
    True,
    "x",
    b"x",
    [5],
    {},
    ("a", "b"),
    object(),
)


def code(call: Callable[..., object], given: dict[str, Any]) -> str:
    try:
        call(**given)
    except PenstockError as error:
        return error.code
    return ""


def test_the_table_has_every_public_call_with_all_that_it_takes() -> None:
    public = {
        name: list(inspect.signature(member).parameters)[1:]
        for name, member in inspect.getmembers(Connection, inspect.isfunction)
        if not name.startswith("_")
    }
    assert public == {name: list(given) for name, given in CALLS.items()}


def test_no_call_ends_in_a_raw_error_whatever_it_is_given(ps: Connection) -> None:
    ps.script(SCRIPT)
    for name, good in CALLS.items():
        for argument in good:
            for wrong in WRONG if name != "wait" else WRONG[2:]:  # which may wait for ever
                code(getattr(ps, name), good | {argument: wrong})  # raises what has no code
    refused = {
        (name, argument)
        for name, good in CALLS.items()
        for argument in good
        if code(getattr(ps, name), good | {argument: object()})
    }
    assert refused == {(name, argument) for name, good in CALLS.items() for argument in good}


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("sql", {"text": None}, "BAD_ARGUMENT"),
        ("push", {"stream": "s", "rows": None}, "BAD_ROW"),
        ("push", {"stream": "s", "rows": {"t": "xy", "n": [1, 2]}}, "BAD_ROW"),
        ("wait", {"timeout": "x"}, "BAD_ARGUMENT"),
        ("callback", {"query": "q", "function": 5}, "BAD_ARGUMENT"),
        ("tap", {"function": None}, "BAD_ARGUMENT"),
        ("subscribe", {"query": "q", "max_rows": 0}, "BAD_ARGUMENT"),
        ("subscribe", {"query": "q", "after": 5}, "BAD_ARGUMENT"),
        ("aggregate", {**CALLS["aggregate"], "takes": "int"}, "BAD_ARGUMENT"),
    ],
)
def test_the_code_says_what_was_wrong(
    ps: Connection, name: str, given: dict[str, Any], expected: str
) -> None:
    ps.script(SCRIPT)
    assert code(getattr(ps, name), given) == expected


def test_connect_says_which_argument_is_wrong(spark: SparkSession, tmp_path: Path) -> None:
    for argument, wrong in (
        ("home", None),
        ("home", ""),
        ("home", "a\0b"),
        ("master", 2),
        ("spark", "local"),
        ("clock", 5),
        ("begin", "no"),
        ("settings", {}),
        ("bounds", 5),
        ("aggregates", [max]),
        ("actions", {"a": 5}),
        ("commands", "/bin/true"),
        ("functions", [max]),
    ):
        given = {"home": tmp_path / "h", "spark": spark} | {argument: wrong}
        assert code(penstock.connect, given) == "BAD_ARGUMENT", argument


def test_push_returns_how_many_rows_the_stream_has_had(
    opener: Callable[[], Connection],
) -> None:
    with opener() as ps:
        ps.script(SCRIPT)
        assert ps.push("s", {"n": 1, "t": "xy"}) == 1
        assert ps.push("s", {"n": [2, 3]}) == 3
        assert ps.push("s", []) == 3
        assert ps.push("s", pa.record_batch({"n": pa.array([4], pa.int32())})) == 4
    with opener() as ps:
        assert ps.push("s", [{"t": "last"}]) == 5
        until(ps, lambda: len(rows_of(ps.sql("SELECT * FROM q").table)) == 5)
        assert rows_of(ps.sql("SELECT n, t FROM q ORDER BY n NULLS LAST").table) == [
            {"n": 1, "t": "xy"},
            *({"n": n, "t": None} for n in (2, 3, 4)),
            {"n": None, "t": "last"},
        ]
