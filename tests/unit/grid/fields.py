"""Small fields of readings, and perspectives over them, for tests."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from penstock.grid.space.cells import Cells
from penstock.grid.space.perspectives import Base, Node, base_of, derived
from penstock.model.grids import (
    VALUE,
    Aggregate,
    Axis,
    Constant,
    Convert,
    Formula,
    Interpolate,
    Merge,
    Method,
    Operation,
    PerspectiveDefinition,
    Topology,
    Variable,
)

SECOND = 1_000_000
TENTH = Fraction(1, 10)
FINE = Topology(Axis(Fraction(1)), Axis(TENTH), Axis(TENTH))
Reading = tuple[int, int, int, float]


def field_of(readings: list[Reading], name: str = "base") -> Base:
    """Return the base of readings: seconds, tenths of degrees twice, value."""
    columns = np.array(readings, float).reshape(-1, 4).T
    time = (columns[0] * SECOND).astype(np.int64)
    return base_of(name, FINE, (time, columns[1] / 10, columns[2] / 10, columns[3]))


def rows(cells: Cells) -> dict[tuple[int, int, int], float | None]:
    """Return cells as Python's own."""
    numbers = zip(*(each.tolist() for each in cells.numbers), strict=True)
    values = [None if np.isnan(each) else float(each) for each in cells.value]
    return dict(zip(numbers, values, strict=True))


def perspective(name: str, function: object, *sources: Node, **axes: Axis) -> Node:
    """Return a perspective over its sources."""
    names = tuple(each.name for each in sources)
    return derived(PerspectiveDefinition(name, names, function, **axes), sources)  # type: ignore[arg-type]


def values() -> st.SearchStrategy[float]:
    """Return readings whose sums are exact, so that their order says nothing."""
    return st.integers(-64, 64).map(lambda each: each / 4)


def readings(most: int = 40) -> st.SearchStrategy[list[Reading]]:
    """Return readings, no two of one cell."""
    one = st.tuples(st.integers(-30, 30), st.integers(-12, 12), st.integers(-12, 12), values())
    return st.lists(one, max_size=most, unique_by=lambda each: each[:3])


def formulas() -> st.SearchStrategy[Formula]:
    """Return formulas over `value` that also clean."""
    leaf = st.just(VALUE) | values().map(Constant) | st.just(Constant(None))
    return st.one_of(
        st.builds(lambda name, a, b: Operation(name, (a, b)), st.sampled_from("+-*/<"), leaf, leaf),
        st.builds(
            lambda a, b, c: Operation("case", (Operation("<", (a, b)), c, VALUE)), leaf, leaf, leaf
        ),
        st.builds(lambda a: Operation("coalesce", (VALUE, a)), leaf),
        st.just(Operation("nullif", (VALUE, Constant(1.0)))),
    )


@st.composite
def surfaces(draw: st.DrawFn) -> Node:
    """Return trees of perspectives over one base: converts, aggregates, interpolations, a merge."""
    node: Node = field_of(draw(readings()))
    names = iter(f"p{number}" for number in range(99))
    steps = draw(
        st.lists(st.sampled_from(["convert", "time", "space", "map", "merge"]), max_size=5)
    )
    for each in steps:
        name = next(names)
        match each:
            case "convert":
                node = perspective(name, Convert(draw(formulas())), node)
            case "time":
                node = _coarser(draw, name, node, ("time",))
            case "space":
                node = _coarser(draw, name, node, ("lat", "lon"))
            case "map" if _is_plain(node):
                method = Method(draw(st.sampled_from(["idw", "nearest"])), neighbours=4)
                axes = {axis: Axis(Fraction(1)) for axis in ("lat", "lon")}
                node = perspective(name, Interpolate(method), node, **axes)
            case "merge":
                one = perspective(name, Convert(draw(formulas())), node)
                other = perspective(next(names), Convert(draw(formulas())), node)
                both = Operation("+", (Variable(one.name), Variable(other.name)))
                node = perspective(next(names), Merge(both), one, other)
            case _:
                continue
    return node


def _is_plain(node: Node) -> bool:
    return node.topology.lat.is_plain and node.topology.lon.is_plain


def _coarser(draw: st.DrawFn, name: str, node: Node, along: tuple[str, ...]) -> Node:
    """Return an aggregate over some axes, which overlaps, leaves gaps or is scattered at times."""
    axes: dict[str, Axis] = {}
    for axis in along:
        source: Axis = getattr(node.topology, axis)
        if not source.is_plain:
            return node
        step = source.step * draw(st.integers(1, 4))
        size = source.step * draw(st.integers(1, 6))
        origin = source.origin + source.step * draw(st.integers(-3, 3))
        if draw(st.booleans()) and size <= step:
            axes[axis] = Axis(step, size, origin, period=step * draw(st.integers(1, 4)))
        else:
            axes[axis] = Axis(step, size, origin)
    name_of = draw(
        st.sampled_from(["avg", "sum", "min", "max", "count", "median", "first", "last"])
    )
    return perspective(name, Aggregate(name_of), node, **axes)  # type: ignore[arg-type]
