"""A cover: partials by all keys that several sections have, from which each one's are rolled up."""

import hashlib
import math
from collections.abc import Sequence

from penstock.model.schema import quoted
from penstock.plan.bundles.layout import Layout
from penstock.plan.bundles.told import Told
from penstock.plan.operators.window_aggregate import PANE


def cover_of(layouts: Sequence[Layout]) -> Layout:
    """Return the coarsest layout that is as fine as each of these; none tells tuples apart."""
    keys = sorted({sql for layout in layouts for _, sql in layout.keys})
    aggregates = {name: each for layout in layouts for name, each in layout.aggregates}
    return Layout(
        layouts[0].time,
        tuple((_name(sql), sql) for sql in keys),
        Told(),
        tuple((name, aggregates[name]) for name in sorted(aggregates)),
        math.gcd(*(layout.pane for layout in layouts)),
    )


def rolled_up_sql(layout: Layout, cover: str) -> str:
    """Return the SELECT from a cover's partials to those of one of its layouts."""
    columns = [f"{_name(sql)} AS {quoted(name)}" for name, sql in layout.keys]
    columns.append(f"{PANE} - pmod({PANE}, {layout.pane}L) AS {PANE}")
    groups = ", ".join(str(place) for place in range(1, len(columns) + 1))
    columns += layout.combined()
    return f"SELECT {', '.join(columns)} FROM {cover} AS i GROUP BY {groups}"


def _name(sql: str) -> str:
    return f"__k{hashlib.sha256(sql.encode()).hexdigest()[:12]}"
