"""A surface answered: rewritten, its strategy chosen, computed; and the same, explained."""

from penstock.grid.choice import Choice, measured
from penstock.grid.coalesce import coalesced
from penstock.grid.execution import Execution, Strategy, path
from penstock.grid.reach import wanted
from penstock.grid.space.cells import Cells
from penstock.grid.space.perspectives import Base, Node, Perspective
from penstock.model.grids import (
    NO_WINDOW,
    Aggregate,
    Axis,
    Convert,
    Interpolate,
    Merge,
    Window,
)


def answered(surface: Node, window: Window = NO_WINDOW) -> Cells:
    """Return the cells of a surface in a window, all of them: there is no one to wait for some."""
    plan = coalesced(surface)
    return Execution(plan, window, Strategy(top=len(path(plan)))).cells()


def explained(surface: Node, window: Window = NO_WINDOW) -> str:
    """Return how a surface is computed: the perspectives, what they cost, and the choice."""
    plan = coalesced(surface)
    drawn = sorted({each.name for each in path(surface)} - {each.name for each in path(plan)})
    region = wanted(plan, window)
    choice = measured(plan, window)
    lines = [f"{surface.name}: {len(region):,} cells in {choice.blocks} blocks"]
    lines += _tree(plan, "  ")
    if drawn:
        lines.append(f"coalesced: {', '.join(drawn)}")
    lines += _costs(choice)
    return "\n".join(lines)


def drawn(surface: Node) -> str:
    """Return the perspectives that are computed, after rewriting."""
    return "\n".join(_tree(coalesced(surface), ""))


def _tree(node: Node, indent: str) -> list[str]:
    if isinstance(node, Base):
        return [f"{indent}{node.name}: base, {len(node.cells):,} cells with readings"]
    drawn = [word for word, there in (("before", node.before), ("after", node.after)) if there]
    also = f", convert {' and '.join(drawn)} it" if drawn else ""
    below = node.sources[0].topology
    topology = "*" if node.topology == below else _told(node.topology.axes)
    lines = [f"{indent}{node.name}: ⟨{topology}, {_function(node)}{also}, {_selection(node)}⟩"]
    for each in node.sources:
        lines += _tree(each, indent + "  ")
    return lines


def _function(node: Perspective) -> str:
    match node.function:
        case Convert():
            return "convert"
        case Merge():
            return f"merge of {', '.join(node.called)}"
        case Interpolate(method=method):
            return f"interpolate by {method.name}"
        case Aggregate(name=name):
            return f"aggregate {name}"


def _selection(node: Perspective) -> str:
    """Return how input is selected: `*` where it is location consistent."""
    if not isinstance(node.function, Interpolate):
        return "*"
    method = node.function.method
    near = 1 if method.name == "nearest" else method.neighbours
    return f"{near} nearest" + (f" within {method.radius:g} m" if method.radius else "")


def _told(axes: tuple[Axis, ...]) -> str:
    units = ("s", "°", "°")
    return " × ".join(_axis(axis, unit) for axis, unit in zip(axes, units, strict=True))


def _axis(axis: Axis, unit: str) -> str:
    size = "" if axis.size == axis.step else f" of {axis.size}{unit}"
    again = f" again every {axis.period}{unit}" if axis.period else ""
    return f"{axis.step}{unit}{size}{again}"


def _costs(choice: Choice) -> list[str]:
    lines = [f"{'perspective':18} {'cells':>14} {'there':>7} {'a block':>11} {'whole':>11}"]
    for each in choice.costs:
        times = f"{each.a_block * 1e3:>8.1f} ms {each.whole * 1e3:>8.1f} ms"
        lines.append(f"{each.name[:18]:18} {each.cells:>14,} {each.density:>7.2%} {times}")
    lines.append("average response time, predicted from two pilot blocks:")
    for top in range(len(choice.costs) + 1):
        mark = "  <- chosen" if top == choice.top else ""
        lines.append(f"  hybrid-{top} {choice.response(top) * 1e3:>10.1f} ms{mark}")
    return lines
