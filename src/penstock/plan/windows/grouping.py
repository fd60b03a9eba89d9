"""GROUP BY: which keys there are, and which of them each grouping set has."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, islice, product

from sqlglot import exp

from penstock.errors import BadQueryError
from penstock.model.schema import quoted
from penstock.plan.algebra.scope import place_of
from penstock.plan.operators.windows.grouping_sets import SET, key_sql
from penstock.sql import parse_select, spark_sql

MAX_SETS = 256  # each tuple counts once for every set, so a cube of eight keys is the largest

AFTER = ("rollup", "cube", "grouping_sets")  # what may follow the keys
CALLS = {"grouping": "TINYINT", "grouping_id": "BIGINT"}  # with the types that Spark gives them

Keys = tuple[exp.Expr, ...]
Write = Callable[[exp.Expr], str]
Several = (exp.Rollup, exp.Cube, exp.GroupingSets)


@dataclass(frozen=True, slots=True)
class Grouping:
    """Keys as SQL in the order of the text, and the sets of them; `several` where sets are asked.

    One set without ROLLUP, CUBE and GROUPING SETS is a plain GROUP BY.
    """

    keys: tuple[str, ...] = ()
    sets: tuple[frozenset[str], ...] = (frozenset(),)
    several: bool = False

    def without(self, key: str) -> "Grouping":
        """Return the grouping by the other keys."""
        keys = tuple(each for each in self.keys if each != key)
        return Grouping(keys, tuple(each - {key} for each in self.sets), several=self.several)

    @property
    def common(self) -> tuple[str, ...]:
        """Return the keys that every set has, sorted."""
        return tuple(sorted(frozenset.intersection(*self.sets)))

    @property
    def count(self) -> int:
        """Return for how many sets each tuple counts, 0 where it is one."""
        return len(self.sets) if len(self.sets) > 1 else 0

    def keys_sql(self) -> dict[str, str]:
        """Return each key's SQL over tuples that come once for each set, and the set's number."""
        common = set(self.common)
        found = {key: key if key in common else key_sql(key, self.places(key)) for key in self.keys}
        return found | {SET: SET} if self.count else found

    def told(self, call: exp.Expr, number: str) -> exp.Expr:
        """Return grouping(…) or grouping_id(…) over the result, where `number` is the set's."""
        if not self.several:
            raise BadQueryError(
                f"{spark_sql(call)} needs ROLLUP, CUBE or GROUPING SETS", place=place_of(call)
            )
        asked = [spark_sql(each) for each in call.expressions]
        if unknown := next((key for key in asked if key not in self.keys), None):
            raise BadQueryError(
                f"{spark_sql(call)}: {unknown} is no key of GROUP BY", place=place_of(call)
            )
        kind = CALLS[call.name.lower()]
        if kind == "TINYINT" and len(asked) != 1:
            raise BadQueryError(f"{spark_sql(call)} takes one key", hint="grouping_id takes more")
        values = [_bits(asked or self.keys, each) for each in self.sets]
        listed = ", ".join(map(str, values))
        value = f"element_at(array({listed}), {quoted(number)} + 1)" if self.count else listed
        tree: exp.Expr = parse_select(f"SELECT CAST({value} AS {kind})").expressions[0]
        return tree

    def places(self, key: str) -> tuple[int, ...]:
        """Return the numbers of the sets that have the key."""
        return tuple(place for place, each in enumerate(self.sets) if key in each)


def grouping_of(group: exp.Group, write: Write) -> Grouping:
    """Return the grouping that a GROUP BY asks for; `write` gives a key as SQL.

    The sets are sorted, so that their order makes no other node.
    """
    _refuse_both(group)
    sets = _few(_sets(group))
    if len(sets) > MAX_SETS:
        raise BadQueryError(
            f"GROUP BY asks for more than {MAX_SETS} grouping sets",
            hint="list those that are needed with GROUPING SETS",
            place=place_of(group),
        )
    texts = [frozenset(map(write, keys)) for keys in sets]
    return Grouping(
        tuple(dict.fromkeys(map(write, _in_order(group)))),
        tuple(sorted(texts, key=lambda each: (-len(each), sorted(each)))),
        several=_is_several(group),
    )


def _refuse_both(group: exp.Group) -> None:
    given = [name for name in AFTER if group.args.get(name)]
    if len(given) > 1:
        written = " and ".join(name.replace("_", " ").upper() for name in given)
        raise BadQueryError(
            f"GROUP BY has {written} after its keys", hint="keep one of them", place=place_of(group)
        )


def is_about_sets(node: exp.Expr) -> bool:
    """Say whether the node asks which keys a row's grouping set has."""
    return isinstance(node, exp.Anonymous) and node.name.lower() in CALLS


def _bits(keys: Iterable[str], having: frozenset[str]) -> int:
    """Return one bit a key, the last key's the lowest: 1 where the set has it not."""
    found = 0
    for key in keys:
        found = found * 2 + (key not in having)
    return found


def _is_several(group: exp.Group) -> bool:
    given = (group.args.get(name) for name in AFTER)
    return any(given) or any(isinstance(each, Several) for each in group.expressions)


def _in_order(node: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the keys as they stand in the text."""
    for each in (*node.expressions, *(node.args.get("grouping_sets") or ())):
        yield from _in_order(each) if isinstance(each, Several) else _inside(node, each)


def _inside(node: exp.Expr, key: exp.Expr) -> Keys:
    """Return the keys that one part of a ROLLUP, CUBE or GROUPING SETS has; of GROUP BY, itself."""
    return _members(key) if isinstance(node, Several) else (key,)


def _sets(group: exp.Group) -> Iterator[Keys]:
    if listed := group.args.get("grouping_sets"):  # GROUP BY a, b GROUPING SETS (…)
        return chain.from_iterable(map(_sets_of, listed))
    if group.args.get("rollup"):  # WITH ROLLUP
        return _sets_of(exp.Rollup(expressions=[each.copy() for each in group.expressions]))
    if group.args.get("cube"):
        return _sets_of(exp.Cube(expressions=[each.copy() for each in group.expressions]))
    return map(_together, product(*(_few(_sets_of(each)) for each in group.expressions)))


def _sets_of(node: exp.Expr) -> Iterator[Keys]:
    """Yield the sets that one part of a GROUP BY stands for."""
    parts = [_members(each) for each in node.expressions] if isinstance(node, Several) else []
    match node:
        case exp.GroupingSets():
            yield from chain.from_iterable(map(_listed, node.expressions))
        case exp.Rollup():
            yield from (_together(parts[:size]) for size in range(len(parts), -1, -1))
        case exp.Cube():
            for size in range(len(parts), -1, -1):
                yield from map(_together, combinations(parts, size))
        case _:
            yield (node,)


def _listed(node: exp.Expr) -> Iterator[Keys]:
    return _sets_of(node) if isinstance(node, Several) else iter([_members(node)])


def _members(node: exp.Expr) -> Keys:
    match node:
        case exp.Tuple():
            return tuple(node.expressions)
        case exp.Paren():
            return _members(node.this)
        case _:
            return (node,)


def _together(parts: Sequence[Keys]) -> Keys:
    return tuple(chain.from_iterable(parts))


def _few(sets: Iterator[Keys]) -> list[Keys]:
    """Return the sets, or one more than may be."""
    return list(islice(sets, MAX_SETS + 1))
