"""Two answers are equal as bags of rows; doubles may differ where the order of additions does."""

import math
from collections import Counter
from typing import Any

import pyarrow as pa

from tests.e2e.support import plain

CLOSE = 1e-6  # relative; variances of nearly equal numbers lose digits


def difference(found: pa.Table, expected: pa.Table) -> str:
    """Return how two answers differ, or nothing."""
    mine, theirs = _bag(found), _bag(expected)
    missing, extra = theirs - mine, mine - theirs
    if not _nearly(missing, extra):
        return (
            f"{sum(missing.values())} missing {_some(missing)}; "
            f"{sum(extra.values())} too many {_some(extra)}"
        )
    if found.num_rows and _types(found) != _types(expected):
        return f"types {_types(found)} instead of {_types(expected)}"
    return ""


def _types(table: pa.Table) -> list[str]:
    """Return the types; whether an element may be null says nothing of the values."""
    return [str(each).replace(" not null", "") for each in table.schema.types]


def _bag(table: pa.Table) -> Counter[tuple[Any, ...]]:
    names = [str(place) for place in range(table.num_columns)]
    renamed = table.rename_columns(names)
    return Counter(tuple(plain(value) for value in row.values()) for row in renamed.to_pylist())


def _nearly(missing: Counter[tuple[Any, ...]], extra: Counter[tuple[Any, ...]]) -> bool:
    rest = list(missing.elements())
    for row in extra.elements():
        near = next((other for other in rest if _is_near(row, other)), None)
        if near is None:
            return False
        rest.remove(near)
    return not rest


def _is_near(one: Any, two: Any) -> bool:
    if isinstance(one, float) and isinstance(two, float):
        return math.isclose(one, two, rel_tol=CLOSE, abs_tol=1e-7)
    if isinstance(one, tuple) and isinstance(two, tuple) and len(one) == len(two):
        return all(map(_is_near, one, two))
    return bool(one == two)


def _some(rows: Counter[tuple[Any, ...]]) -> str:
    return str([*rows.elements()][:3])[:600]
