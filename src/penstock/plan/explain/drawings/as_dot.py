"""The drawing in the language of Graphviz: `dot -Tsvg`."""

from collections.abc import Iterator

from penstock.plan.explain.abridged import NAMES
from penstock.plan.explain.drawings.drawing import Block, Drawing

WIDEST = 100  # letters of an operator; a box as wide as its SQL would hide the picture
HEAD = """digraph penstock {
  rankdir=LR;
  node [shape=box, fontname="monospace", fontsize=10];
  edge [fontname="monospace", fontsize=10];"""


def as_dot(drawing: Drawing) -> str:
    """Return the drawing as a directed graph."""
    lines = [HEAD]
    for stream in drawing.streams:
        lines.append(_box(f"stream {stream.key}", stream.text, "shape=cylinder"))
    for name, node in drawing.queries:
        lines += [_query(name), _arrow(f"stream {node}", f"query {name}")]
    for block in drawing.blocks:
        lines += _block(drawing, block)
    return "\n".join([*lines, "}"])


def _block(drawing: Drawing, block: Block) -> Iterator[str]:
    mine = f"unit {block.key}"
    label = "\n".join([block.title, *(_cut(each.text) for each in block.operators)])
    yield _box(mine, label, "peripheries=2" if block.is_bundle else "")
    streams = {each.key for each in drawing.streams}
    writers = {node: each for each in drawing.blocks for node in each.gives}
    for node in block.reads:
        if node in streams:
            yield _arrow(f"stream {node}", mine)
        elif (writer := writers.get(node)) is not None:
            label = drawing.named(node) if writer.is_bundle else ""
            yield _arrow(f"unit {writer.key}", mine, label)
    for name in block.names[:NAMES]:
        yield _query(name)
        yield _arrow(mine, f"query {name}")
    if (more := len(block.names) - NAMES) > 0:
        yield _box(f"more {block.key}", f"and {more:,} more", "shape=plaintext")
        yield _arrow(mine, f"more {block.key}")


def _query(name: str) -> str:
    return _box(f"query {name}", name, "shape=ellipse")


def _box(name: str, label: str, style: str) -> str:
    lines = label.split("\n")
    text = '"' + "".join(f"{_escaped(each)}\\l" for each in lines) + '"'
    if len(lines) == 1:
        text = _quoted(label)
    return f"  {_quoted(name)} [label={text}{f', {style}' if style else ''}];"


def _arrow(one: str, other: str, label: str = "") -> str:
    labelled = f" [label={_quoted(label)}]" if label else ""
    return f"  {_quoted(one)} -> {_quoted(other)}{labelled};"


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    """Return text for a quoted string, in which Graphviz reads backslashes as escapes."""
    return " ".join(text.replace("\\", "\\\\").replace('"', '\\"').splitlines())
