"""Held items as JSON: whole, unless their vectors are too long to be read."""

import json

import numpy as np

from penstock.engine.workers.held import MOST_ELEMENTS, SOME_ELEMENTS, held_items
from penstock.functions import StreamType
from penstock.functions.operators.operator import Withheld
from penstock.model.schema import Column

KIND = StreamType("k", (Column("n", "bigint"), Column("x", "complex vector")), "n")


def test_long_vectors_are_told_by_their_beginning() -> None:
    lengths = [0, MOST_ELEMENTS, MOST_ELEMENTS + 1]
    items = KIND(n=[0, 1, 2], x=[np.full(each, 1 + 2j, np.complex64) for each in lengths])
    held = held_items([Withheld("held", "f", "why", items, 4)], {4: 7})
    assert {(each.site, each.function, each.cause) for each in held} == {(7, "f", "why")}
    none, whole, long = (json.loads(each.item)["x"] for each in held)
    assert none == []
    assert whole == [[1.0, 2.0]] * MOST_ELEMENTS
    assert long == {"elements": MOST_ELEMENTS + 1, "first": [[1.0, 2.0]] * SOME_ELEMENTS}
