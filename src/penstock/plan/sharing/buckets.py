"""Buckets: what the cuts of many conditions leave of one column's values.

    cuts        c0      c1      c2
    buckets  0  |   1   |   2   |   3

A condition lets whole buckets through, so tuples need to be told apart by bucket only. With
thousands of conditions, each one's buckets are put together from the nodes of a binary tree over
the buckets: a span is at most two nodes of each level.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from penstock.model.own_names import own
from penstock.model.schema import quoted
from penstock.plan.operators.bundles.spans import BEFORE, Cut, Span, Value

Numbers = tuple[int, int]  # the first and the last bucket of a span
PLACE, STEP = own("p"), own("s")
NONE = -1  # the bucket of tuples without a value


@dataclass(frozen=True, slots=True)
class Buckets:
    """The buckets of one column; `cuts` ascend.

    Where not everybody asks about the column (`optional`), tuples without a value count, in a
    bucket of their own before all others.
    """

    column: str
    type: str
    cuts: tuple[Cut, ...]
    optional: bool = False

    @property
    def count(self) -> int:
        """Return how many buckets there are."""
        return len(self.cuts) + 1

    @property
    def leaf(self) -> int:
        """Return the number of bucket 0 among the nodes of the tree; the root is 1."""
        return 1 << max(1, (self.count - 1).bit_length())

    def numbers(self, span: Span) -> Numbers:
        """Return the buckets that a span consists of."""
        low, high = span
        first = 0 if low is None else bisect_left(self.cuts, low) + 1
        last = len(self.cuts) if high is None else bisect_left(self.cuts, high)
        return first, last

    @property
    def all_numbers(self) -> Numbers:
        """Return every bucket, for those who do not ask."""
        return NONE, len(self.cuts)

    def nodes(self, numbers: Numbers) -> Iterator[int]:
        """Yield the fewest nodes of the tree that hold exactly these buckets."""
        low, high = numbers[0] + self.leaf, numbers[1] + self.leaf + 1
        while low < high:
            if low & 1:
                yield low
                low += 1
            if high & 1:
                high -= 1
                yield high
            low, high = low >> 1, high >> 1

    def under(self, node: int) -> Iterator[int]:
        """Yield the buckets that a node holds."""
        levels = self.leaf.bit_length() - node.bit_length()
        first = (node << levels) - self.leaf
        return iter(range(first, min(first + (1 << levels), self.count)))

    def moved_to(self, other: "Buckets") -> list[int]:
        """Return, for each bucket, one of `other` on the same side of every cut of both."""
        return [0, *(bisect_right(other.cuts, cut) for cut in self.cuts)]

    def table_to(self, other: "Buckets") -> list[int]:
        """Return, for no value and for each bucket, the one of `other` that it lies in."""
        return [NONE, *self.moved_to(other)]

    def bits_table(self, predicates: Mapping[int, Iterable[Span] | None]) -> list[int]:
        """Return, for no value and for each bucket, the predicate bits (bits) that it lets hold.

        Predicate bits with spans ask about the column, the others are content with everything.
        """
        table = [0] * (self.count + 1)
        for bit, spans in predicates.items():
            asked = [self.all_numbers] if spans is None else [self.numbers(s) for s in spans]
            for number in (n for low, high in asked for n in range(low, high + 1)):
                table[number + 1] |= bit
        return table

    def values(self) -> list[Value]:
        """Return the values that have cuts, ascending."""
        return sorted({value for value, _ in self.cuts})

    def search_sql(self) -> str:
        """Return SQL for how many of the values are less than the column's."""
        step, steps = 1, []
        while step <= len(self.values()):
            steps.append(str(step))
            step *= 2
        column, array = quoted(self.column), self._array_sql()
        halves = f"array({', '.join(reversed(steps))})"
        less = f"get({array}, {PLACE} + {STEP} - 1) < {column}"
        further = f"IF({less}, {PLACE} + {STEP}, {PLACE})"
        return f"aggregate({halves}, 0, ({PLACE}, {STEP}) -> {further})"

    def number_sql(self, searched: str) -> str:
        """Return SQL for the bucket, where `searched` is the outcome of the search."""
        places = ", ".join(map(str, self.places()))
        equal = f"IF(get({self._array_sql()}, {searched}) = {quoted(self.column)}, 1, 0)"
        number = f"get(array({places}), 2 * {searched} + {equal})"
        return f"IF({quoted(self.column)} IS NULL, {NONE}, {number})" if self.optional else number

    def places(self) -> list[int]:
        """Return the buckets below each value and at it, in turn, and above the last."""
        found: list[int] = []
        for value in self.values():
            below = bisect_left(self.cuts, (value, BEFORE))
            found += [below, bisect_right(self.cuts, (value, BEFORE))]
        return [*found, len(self.cuts)]

    def _array_sql(self) -> str:
        return f"array({', '.join(literal(each, self.type) for each in self.values())})"


def buckets_of(
    column: str, type_: str, spans: Iterable[Span], *, optional: bool = False
) -> Buckets:
    """Return the buckets that tell these spans apart."""
    cuts = {cut for span in spans for cut in span if cut is not None}
    return Buckets(column, type_, tuple(sorted(cuts)), optional)


def literal(value: Value, type_: str) -> str:
    """Return a value as Spark SQL."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return f"'{escaped}'"
    return f"{value}L" if type_ == "bigint" else f"{float(value)!r}D"
