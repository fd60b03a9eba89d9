from typing import Any

import pytest

from penstock.server.page.live.attention import Attention, Item
from tests.unit.server.page.live.samples import seen

BROKEN = {"verdict": "broken", "max_latency_ms": 100.0, "contract_p99_ms": 250.0}

NEAR = {"verdict": "kept", "max_latency_ms": 100.0, "contract_p99_ms": 90.0}


def one(**tables: Any) -> Item:
    (item,) = Attention().items(seen(1000.0, **tables))
    return item


def test_where_all_is_well_nothing_needs_attention() -> None:
    calm = seen(1000.0, streams={"s": {}}, queries={"q": {}}, units={"u": {}}, rules={"r": {}})
    assert Attention().items(calm) == []


@pytest.mark.parametrize(
    ("kind", "tone", "tables"),
    [
        ("contract", "bad", {"queries": {"x": BROKEN}}),
        ("contract", "warn", {"queries": {"x": NEAR}}),
        ("held", "bad", {"queries": {"x": {"state": "FAILED", "cause": "a sink is gone"}}}),
        ("suspended", "warn", {"queries": {"x": {"state": "SUSPENDED"}}}),
        ("waiting", "warn", {"queries": {"x": {"state": "WAITING"}}}),
        ("stream", "bad", {"streams": {"x": {"state": "FAILED", "cause": "no such file"}}}),
        ("stream", "warn", {"streams": {"x": {"cause": "the archive's disk is full"}}}),
        ("lag", "warn", {"streams": {"x": {"lag_s": 40.0}}}),
        ("unit", "bad", {"units": {"x": {"cause": "Spark could not run it"}}}),
        ("rule", "bad", {"rules": {"x": {"state": "FAILED", "cause": "its function is gone"}}}),
        ("rule", "warn", {"rules": {"x": {"cause": "the webhook answered 500"}}}),
        ("dead", "warn", {"rules": {"x": {"dead": 3}}}),
        ("load", "warn", {"load": {"needed_soon": 0.95}}),
        ("load", "bad", {"load": {"needed_soon": 1.4}}),
    ],
)  # fmt: skip
def test_trouble_is_told_with_its_kind_and_how_bad_it_is(
    kind: str, tone: str, tables: dict[str, Any]
) -> None:
    item = one(**tables)
    assert (item.kind, item.tone, item.name) == (kind, tone, "" if kind == "load" else "x")


def test_a_cause_that_a_query_tells_is_not_told_of_its_unit_again() -> None:
    held = {"state": "FAILED", "cause": "no such column"}
    item = one(queries={"q": held}, units={"u": {"cause": "no such column"}})
    assert item.kind == "held"


def test_what_a_contract_promised_and_what_came_of_it_are_told() -> None:
    cause = one(queries={"q": BROKEN | {"max_error": 0.1, "error_p95": 0.25}}).cause
    assert all(figure in cause for figure in ("250 ms", "100 ms", "25.0%", "10.0%"))


def test_trouble_is_dated_from_when_it_was_first_seen_until_it_is_over() -> None:
    attention = Attention()
    for at in (100.0, 101.0, 102.0):
        (item,) = attention.items(seen(at, queries={"q": BROKEN}))
        assert item.since == 100.0
    assert attention.items(seen(103.0, queries={"q": {}})) == []
    (item,) = attention.items(seen(104.0, queries={"q": BROKEN}))
    assert item.since == 104.0


def test_a_suspension_is_dated_by_the_query_itself() -> None:
    row = {"state": "SUSPENDED", "suspended_since": 50_000_000}
    (item,) = Attention().items(seen(100.0, queries={"q": row}))
    assert item.since == 50.0


def test_what_is_broken_comes_before_what_is_in_danger_and_the_oldest_first() -> None:
    attention = Attention()
    attention.items(seen(1.0, queries={"late": {"state": "WAITING"}}))
    found = attention.items(
        seen(2.0, queries={"late": {"state": "WAITING"}, "a": BROKEN, "b": {"state": "SUSPENDED"}})
    )
    assert [each.name for each in found] == ["a", "late", "b"]


def test_rejects_are_news_for_ten_minutes_after_the_last_one() -> None:
    attention = Attention()

    def items(at: float, rejected: int) -> list[Item]:
        silent = {"rejected": rejected, "rows_per_s": 0.0}
        return attention.items(seen(at, streams={"s": silent}))

    assert items(0.0, 5) == []  # from before
    (item,) = items(1.0, 7)
    assert (item.kind, item.name) == ("rejects", "s")
    assert items(600.0, 7)
    assert items(602.0, 7) == []


def test_late_rows_are_news_of_their_query() -> None:
    attention = Attention()
    attention.items(seen(0.0, queries={"q": {}}))
    (item,) = attention.items(seen(1.0, queries={"q": {"late_rows": 2}}))
    assert (item.kind, item.name) == ("late", "q")


def test_a_checkpoint_is_old_only_while_rows_come() -> None:
    attention = Attention()
    attention.items(seen(0.0, streams={"s": {}}))
    (item,) = attention.items(seen(61.0, streams={"s": {}}))
    assert (item.kind, item.since) == ("checkpoint", 0.0)
    assert attention.items(seen(62.0, streams={"s": {"rows_per_s": 0.0}})) == []
    assert attention.items(seen(63.0, streams={"s": {}}, system={"checkpoint": 2})) == []
