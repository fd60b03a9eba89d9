"""What a run tells at its end, and what it may not end well with."""

from typing import Any

import pyarrow as pa
import pytest

from penstock.cli import leftovers
from penstock.model.definitions import Connector
from tests.unit.cli.fakes import FakeSystem, source_reader

SHOWN: dict[str, list[dict[str, Any]]] = {"STREAMS": [], "QUERIES": [], "RULES": [], "SITES": []}


def found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, limit: float | None = None, **shown: Any
) -> list[tuple[str, bool]]:
    system: Any = FakeSystem(tmp_path)
    source = source_reader("s")
    if limit is not None:
        source.definition.source = Connector("files", (("max_rejects", limit),))
    system.topology.source_readers["s"] = source
    tables = {what: pa.Table.from_pylist(rows) for what, rows in (SHOWN | shown).items()}
    monkeypatch.setattr(leftovers, "show", lambda _, what: tables[what])
    return [(each.text, each.is_loss) for each in leftovers.leftovers(system)]


@pytest.mark.parametrize(
    ("counts", "limit", "share", "is_loss"),
    [
        ((99, 1), None, "1 %", False),
        ((98, 2), None, "2 %", True),
        ((2, 98), None, "98 %", True),
        ((0, 1), None, "100 %", True),
        ((2, 98), 1, "98 %", False),
        ((999_999, 1), 0, "0.0001 %", True),
        ((1, 999_999), 1, "99.9999 %", False),
    ],
)
def test_rejects_are_a_loss_beyond_their_share(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Any,
    counts: tuple[int, int],
    limit: float | None,
    share: str,
    is_loss: bool,
) -> None:
    row = {"stream": "s", "state": "ENDED", "rows": counts[0], "rejected": counts[1]}
    ((text, lost),) = found(monkeypatch, tmp_path, limit, STREAMS=[row])
    assert lost == is_loss
    assert f", {share} of all" in text
    assert ("max_rejects" in text) == is_loss
    assert "SELECT * FROM `s`.rejects" in text


def test_streams_without_rejects_are_not_told_of(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    row = {"stream": "s", "state": "OPEN", "rows": 5, "rejected": 0}
    assert found(monkeypatch, tmp_path, STREAMS=[row]) == []


def test_a_source_that_could_not_be_read_is_a_loss(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    row = {"stream": "s", "state": "FAILED", "rows": 5, "rejected": 0}
    ((text, is_loss),) = found(monkeypatch, tmp_path, STREAMS=[row])
    assert is_loss
    assert "SHOW STREAMS" in text


def test_items_that_functions_failed_on_are_added_up(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    rows = [{"query": query, "held": held} for query, held in (("f", 2), ("g", 0), ("f", 1))]
    ((text, is_loss),) = found(monkeypatch, tmp_path, SITES=rows)
    assert not is_loss
    assert text.startswith("query f: 3 items")
    assert "SELECT * FROM `f`.held" in text


def test_late_rows_and_suspended_queries_are_told_and_are_no_loss(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    rows = [
        {"query": "a", "late_rows": 3, "state": "FINISHED"},
        {"query": "b", "late_rows": 0, "state": "SUSPENDED"},
        {"query": "c", "late_rows": 0, "state": "RUNNING"},
    ]
    told = found(monkeypatch, tmp_path, QUERIES=rows)
    assert [is_loss for _, is_loss in told] == [False, False]
    assert "SELECT * FROM `a`.late" in told[0][0]
    assert "query b is suspended" in told[1][0]


@pytest.mark.parametrize(
    ("row", "losses", "statement"),
    [
        ({"state": "ENABLED"}, [], ""),
        ({"state": "FAILED"}, [True], "SHOW RULES"),
        ({"dead": 2, "failures": 6}, [True], "SELECT * FROM `r`.dead"),
        ({"dead": 2, "held_back": 2}, [False], "RETRY RULE `r`"),
        ({"lost": 1}, [True], "SHOW RULES"),
        ({"state": "FAILED", "dead": None, "lost": None, "failures": None}, [True], "SHOW RULES"),
    ],
)
def test_rules_that_failed_are_a_loss(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Any,
    row: dict[str, Any],
    losses: list[bool],
    statement: str,
) -> None:
    nothing = {"rule": "r", "state": "ENABLED", "dead": 0, "lost": 0, "failures": 0}
    told = found(monkeypatch, tmp_path, RULES=[nothing | row])
    assert [is_loss for _, is_loss in told] == losses
    assert all(statement in text for text, _ in told)
