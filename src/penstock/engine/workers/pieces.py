"""Pieces: a task whose functions take each item for itself is done a run of items at a time.

Threads take the next piece as they come free, so that all slots have something to do however the
flow is written. What comes out is what the whole would give: pieces are put together in order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise

from penstock.engine.workers.ledger import Ledger
from penstock.engine.workers.task import TaskInput, TaskResult
from penstock.functions.data.items import joined
from penstock.functions.flows.figures import by_node
from penstock.functions.flows.program import Program
from penstock.functions.operators.operator import InputItems
from penstock.functions.operators.transform import Transforming

# Of items: large arrays get large pages, many small ones fault in each of theirs.
PIECE_BYTES = 16 << 20
PIECE_SECONDS = 0.02  # what is done sooner is not cut: a piece costs up to half a millisecond
PIECES_A_SLOT = 4  # of a run that is small but dear, so that no slot is left waiting for long


@dataclass(frozen=True, slots=True)
class Grain:
    """How finely to cut: for so many slots, after what items have taken so far."""

    slots: int
    ledger: Ledger

    def pieces(self, work: TaskInput) -> int:
        """Return into how many pieces a task is cut in the driver: by bytes, or for the slots."""
        ((_, arrival),) = work.arrivals.items()
        by_size = -(-arrival.items.bytes // PIECE_BYTES)
        by_time = self._seconds(work.program) * len(arrival.items) / PIECE_SECONDS
        return max(by_size, min(PIECES_A_SLOT * self.slots, int(by_time)))

    def _seconds(self, program: Program) -> float:
        """Return what an item has taken, all nodes together."""
        known = [self.ledger.nodes[n] for n in program.numbers if n in self.ledger.nodes]
        return sum(each.seconds / each.items_in for each in known if each.items_in)


def takes_each_item(program: Program) -> bool:
    """Say whether a program does with each item what it would do with that item alone."""
    return len(program.types_in) == 1 and all(
        isinstance(each, Transforming) for each in program.operators
    )


def in_pieces(
    works: Sequence[TaskInput],
    count: Callable[[TaskInput], int],
    do: Callable[[Sequence[TaskInput]], Sequence[TaskResult]],
) -> list[TaskResult]:
    """Return what tasks give, those that can be cut in as many pieces as `count` says.

    `do` does some tasks side by side, and returns what they gave in their order.
    """
    cuts = [cut(each, count(each)) if takes_each_item(each.program) else [each] for each in works]
    found = iter(do([piece for pieces in cuts for piece in pieces]))
    return [
        put_together(work.program, list(islice(found, len(pieces))))
        for work, pieces in zip(works, cuts, strict=True)
    ]


def cut(work: TaskInput, pieces: int) -> list[TaskInput]:
    """Return a task as so many tasks over about as many items each; none is over no items."""
    ((_, arrival),) = work.arrivals.items()
    rows = len(arrival.items)
    pieces = max(1, min(pieces, rows))
    cuts = [number * rows // pieces for number in range(pieces + 1)]
    return [replace(work, span=span) for span in pairwise(cuts)] if pieces > 1 else [work]


def put_together(program: Program, results: Sequence[TaskResult]) -> TaskResult:
    """Return what pieces gave, in order, as what the whole gives."""
    if len(results) == 1:
        return results[0]
    kinds = dict(zip(program.numbers, program.operators, strict=True))
    order = {(node.site, node.call.function.name): at for at, node in enumerate(program.nodes)}
    held = [item for each in results for item in each.held]
    out = {
        number: InputItems(
            joined(kinds[number].type, [each.out[number].items for each in results]),
            results[0].out[number].progress,
        )
        for number in program.ways_out
    }
    return TaskResult(
        out,
        results[0].states,
        tuple(sorted(held, key=lambda item: order[item.site, item.function])),
        by_node(figures for each in results for figures in each.figures),
        crossing=sum(each.crossing for each in results),
    )
