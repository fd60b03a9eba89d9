"""The drawing as JSON, for programs: all of it, nothing abridged."""

import json
from typing import Any

from penstock.plan.explain.drawings.drawing import Block, Drawing


def as_json(drawing: Drawing) -> str:
    """Return streams, units and queries; units read and give nodes, queries read one."""
    queries = [*drawing.queries, *(each for block in drawing.blocks for each in block.queries)]
    found = {
        "streams": [{"name": each.text, "node": each.key} for each in drawing.streams],
        "units": [_unit(block) for block in drawing.blocks],
        "queries": [{"name": name, "node": node} for name, node in sorted(queries)],
    }
    return json.dumps(found, indent=2, ensure_ascii=False)


def _unit(block: Block) -> dict[str, Any]:
    return {
        "unit": block.key,
        "kind": "bundle" if block.is_bundle else "unit",
        "reads": list(block.reads),
        "gives": list(block.gives),
        "operators": [{"node": each.key, "text": each.text} for each in block.operators],
        "queries": block.names,
        "runs": block.runs(),
    }
