"""The drawing as a tree: below each stream the units that read it, below them who gets their rows.

A unit that reads several nodes stands in full below the first of them.
"""

from collections.abc import Iterator, Sequence

from penstock.plan.explain.abridged import few
from penstock.plan.explain.drawings.drawing import Block, Drawing


def as_text(drawing: Drawing) -> str:
    """Return the drawing as lines of text."""
    seen: set[str] = set()
    lines: list[str] = []
    for stream in drawing.streams:
        lines += ["", f"stream {stream.text}"]
        names = [name for name, node in drawing.queries if node == stream.key]
        lines += _indented(_queries(names))
        lines += _indented(_readers(drawing, [stream.key], seen))
    return "\n".join(lines[1:]) or "no query runs"


def _readers(drawing: Drawing, nodes: Sequence[str], seen: set[str]) -> Iterator[str]:
    for block in drawing.blocks:
        if any(node in nodes for node in block.reads):
            yield from _block(drawing, block, seen)


def _block(drawing: Drawing, block: Block, seen: set[str]) -> Iterator[str]:
    if block.key in seen:
        yield f"{block.title}, as above"
        return
    seen.add(block.key)
    others = ", ".join(map(drawing.named, block.reads)) if len(block.reads) > 1 else ""
    yield f"{block.title}{f', reads {others}' if others else ''}"
    yield from (f"  | {each.text}" for each in block.operators)
    yield from _indented(_queries(block.names))
    for node in _read(drawing, block):
        if block.is_bundle:  # whose rows they read is not plain from where they stand
            yield f"  from {drawing.named(node)}"
            yield from _indented(_indented(_readers(drawing, [node], seen)))
        else:
            yield from _indented(_readers(drawing, [node], seen))


def _read(drawing: Drawing, block: Block) -> list[str]:
    """Return the nodes of a unit that other units read."""
    wanted = {node for each in drawing.blocks for node in each.reads}
    return [node for node in block.gives if node in wanted]


def _queries(names: Sequence[str]) -> Iterator[str]:
    if names:
        yield f"{'query' if len(names) == 1 else 'queries'} {few(names)}"


def _indented(lines: Iterator[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)
