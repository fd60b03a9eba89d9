"""Identities of operators beside their queries: homes hold them. UPDATE_GOLDEN=1 writes them anew.

A difference here means that no home that was written before finds its states again: raise the
home's format, and say so in docs/howto/upgrade.md.
"""

import os
from pathlib import Path

import pytest

from penstock.plan import operators
from penstock.plan.operators import identity as identities
from penstock.plan.operators import key, walk
from penstock.plan.operators.identity import identity
from tests.golden.test_explain import SCRIPTS, graph_of, units_of

HERE = Path(__file__).parent / "identity"


def identified(script: str) -> str:
    """Return the identities of all operators of a script's queries, and of what they share."""
    graph = graph_of(script)
    nodes = {key(node): node for root in graph.queries.values() for node in walk(root)}
    bundles = [unit.bundle for unit in units_of(graph) if unit.bundle is not None]
    nodes |= {key(each): each for each in bundles}
    return "".join(f"{name} {identity(node)}\n" for name, node in nodes.items())


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_operators_are_who_they_were(script: Path) -> None:
    golden = HERE / f"{script.stem}.txt"
    found = identified(script.read_text())
    if os.environ.get("UPDATE_GOLDEN"):
        golden.write_text(found)
    assert found == golden.read_text()


def test_other_words_change_no_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [identified(script.read_text()) for script in SCRIPTS]
    reword(monkeypatch)
    identities._known.clear()
    assert [identified(script.read_text()) for script in SCRIPTS] == before


def reword(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let EXPLAIN say something else of every operator."""
    kinds = [each for each in vars(operators).values() if hasattr(each, "text")]
    for kind in kinds:
        monkeypatch.setattr(kind, "text", lambda _: "in other words")
    assert len(kinds) > 20
