"""Coalesce: a convert needs no cells of its own (TIME-46).

It is drawn into the perspective that reads it, as `before`, or into a merge's formula; the surface
itself is drawn into the one that it reads, as `after`. One that reads a base, and that nothing
reads, stands alone. What several perspectives read stays one.
"""

from dataclasses import replace

from penstock.grid.space.perspectives import Base, Node, Perspective
from penstock.model.grids import VALUE, Convert, Formula, Merge, Variable, substituted

Done = dict[Node, Node]


def coalesced(surface: Node) -> Node:
    """Return a tree that gives the same cells with fewer perspectives on the way."""
    below, formula = _peeled(surface)
    done = _drawn(below, {})
    if formula is None or isinstance(surface, Base):
        return done
    match done:
        case Base():
            return replace(surface, sources=(done,), function=Convert(formula))
        case Perspective(function=Merge(formula=inner)):
            return replace(done, name=surface.name, function=Merge(_then(inner, formula)))
        case Perspective():
            return replace(done, name=surface.name, after=_then(done.after or VALUE, formula))


def _peeled(node: Node) -> tuple[Node, Formula | None]:
    """Return what lies below the converts at the top, and what they do together."""
    formula: Formula | None = None
    while isinstance(node, Perspective) and isinstance(node.function, Convert):
        own = node.function.formula
        formula = own if formula is None else _then(own, formula)
        node = node.sources[0]
    return node, formula


def _drawn(node: Node, done: Done) -> Node:
    """Return a node, which is no convert, over sources which are none."""
    if isinstance(node, Base):
        return node
    if node not in done:
        match node.function:
            case Merge(formula=formula):
                done[node] = _merge(node, formula, done)
            case _:
                done[node] = _reader(node, done)
    return done[node]


def _reader(node: Perspective, done: Done) -> Perspective:
    below, before = _peeled(node.sources[0])
    return replace(node, sources=(_drawn(below, done),), before=before)


def _merge(node: Perspective, own: Formula, done: Done) -> Perspective:
    """Put the formulas of its sources into a merge's own, which calls the sources as before."""
    peeled = [_peeled(each) for each in node.sources]
    meant = {
        name: substituted(formula, {"value": Variable(name)})
        for name, (_, formula) in zip(node.called, peeled, strict=True)
        if formula is not None
    }
    sources = tuple(_drawn(below, done) for below, _ in peeled)
    return replace(node, sources=sources, function=Merge(substituted(own, meant)))


def _then(first: Formula, second: Formula) -> Formula:
    """Return the formula that gives what the second makes of the first."""
    return substituted(second, {"value": first})
