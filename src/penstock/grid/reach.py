"""Which cells of each perspective a window asks for, and what they need below them."""

from fractions import Fraction

from penstock.errors import BadGridError
from penstock.grid.space.nesting import Nestings
from penstock.grid.space.perspectives import AXES, Base, Node, Perspective, number_from
from penstock.grid.space.spans import Region, Spans, around, span
from penstock.model.grids import Axis, Interpolate, Window


def reach(node: Node) -> Region:
    """Return the cells that the data reach: an interpolation fills the box of its source."""
    if isinstance(node, Base):
        return node.extent
    below = around([reach(each) for each in node.sources])
    pairs = zip(AXES, node.topology.axes, node.sources[0].topology.axes, below.axes, strict=True)
    if isinstance(node.function, Interpolate):
        return Region(
            *(
                held if target == source or not len(held) else _covered(target, source, held)
                for _, target, source, held in pairs
            )
        )
    nested = zip(node.nested, below.axes, strict=True)
    return Region(*(each.reached(held) if len(held) else held for each, held in nested))


def wanted(surface: Node, window: Window) -> Region:
    """Return the cells of a surface that a window asks for; raise where there cannot be any."""
    whole = reach(surface)
    held: list[Spans] = []
    bounds = (window.time, window.lat, window.lon)
    for name, axis, bound, there in zip(
        AXES, surface.topology.axes, bounds, whole.axes, strict=True
    ):
        inside = there if bound is None or axis.period is not None else _within(name, axis, bound)
        fixed = name == "time" or not is_filled(surface)
        held.append(inside & there if fixed else inside)
    return Region(*held)


def needed(node: Perspective, region: Region, window: Window) -> Region:
    """Return the cells of each of a perspective's sources that a region of its cells needs.

    An interpolation needs all that is in its slices, wherever its cells are.
    """
    if isinstance(node.function, Interpolate):
        below = reach(node.sources[0])
        return Region(region.time & below.time, below.lat, below.lon)
    nested = nested_in(node, window)
    spans = zip(nested, region.axes, strict=True)
    return Region(*(each.sources(held) for each, held in spans))


def nested_in(node: Perspective, window: Window) -> Nestings:
    """Return how a perspective's cells consist of its source's; scattered ones within a window."""
    whole, axes = reach(node.sources[0]), node.sources[0].topology.axes
    bounds = (window.time, window.lat, window.lon)
    found = []
    for each, axis, bound, held in zip(node.nested, axes, bounds, whole.axes, strict=True):
        low, high = (held.first, held.stop) if len(held) else (0, 0)
        if bound is not None:
            low, high = (number_from(axis, one) for one in bound)
        found.append(each.within(low, high))
    time, lat, lon = found
    return (time, lat, lon)


def _covered(target: Axis, source: Axis, held: Spans) -> Spans:
    """Return the cells with corners from the lowest source corner up to the highest."""
    low = source.origin + held.first * source.step
    high = source.origin + (held.stop - 1) * source.step
    first = number_from(target, low)
    past = number_from(target, high)
    on_it = target.origin + past * target.step == high
    return span(first, past + on_it)


def _within(name: str, axis: Axis, bound: tuple[Fraction, Fraction]) -> Spans:
    """Return the cells whose corner is in a window; there must be one."""
    low, high = bound
    first, past = number_from(axis, low), number_from(axis, high)
    if name != "time" and axis.origin + past * axis.step == high:
        past += 1
    if first >= past:
        raise BadGridError(
            f"no cell's corner lies in the window along {name}",
            hint=f"cells begin every {axis.step} from {axis.origin}; widen the window",
        )
    return span(first, past)


def is_filled(node: Node) -> bool:
    """Say whether a cell has a value wherever it is: an interpolation's, or over one."""
    match node:
        case Base():
            return False
        case Perspective(function=Interpolate()):
            return True
        case _:
            return any(map(is_filled, node.sources))
