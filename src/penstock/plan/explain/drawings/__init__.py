"""Drawings of the whole shared graph, as it is cut into units: EXPLAIN ALL."""

from collections.abc import Callable

from penstock.plan.explain.drawings.as_dot import as_dot
from penstock.plan.explain.drawings.as_json import as_json
from penstock.plan.explain.drawings.as_text import as_text
from penstock.plan.explain.drawings.drawing import Drawing, draw

__all__ = ["FORMS", "draw"]

FORMS: dict[str, Callable[[Drawing], str]] = {"TEXT": as_text, "JSON": as_json, "DOT": as_dot}
