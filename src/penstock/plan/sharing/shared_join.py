"""The one join that the members of a bundle share: of all rows that anybody wants.

A row is kept once, with the columns that somebody reads and for the longest that somebody wants it.
It carries the number of its *audience*, who want it; the state knows which that is. For Spark it
carries them as bits, too, which members may share: pairs of rows that nobody wants both of are left
out where they are found.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.model.own_names import LEFT, RIGHT, own
from penstock.model.schema import Column, Schema, quoted
from penstock.plan.operators import JoinBundle, key
from penstock.plan.operators.bundles.join_member import JoinKey, JoinMember
from penstock.plan.operators.joins.window_join import MET, JoinSide, WindowJoin
from penstock.plan.sharing.predicate_index import BITS_A_COLUMN

SIDES = ("l", "r")
ADDED = ("audience", "bits")
MEETING = tuple(own(f"{side}_met") for side in SIDES)


@dataclass(frozen=True, slots=True)
class SharedJoin(WindowJoin):
    """Pairs of rows of two inputs, with who wants each, and when each was met."""

    @property
    def schema(self) -> Schema:
        """Return the columns of both sides, and when each was met."""
        met = (Column(name, "bigint") for name in MEETING)
        return Schema((*self._columns(0), *self._columns(1), *met))

    def pair_columns(self) -> list[str]:
        """Return the columns of a pair in SQL."""
        met = (f"{at}.{MET} AS {out}" for at, out in zip((LEFT, RIGHT), MEETING, strict=True))
        return [*WindowJoin.pair_columns(self), *met]

    def _columns(self, place: int) -> Iterator[Column]:
        yield from WindowJoin._columns(self, place)
        yield from (Column(name, "bigint") for name in added(place))


def shared_join_of(bundle: JoinBundle) -> SharedJoin:
    """Return the join that has what all members of a bundle need."""
    left, right = (_side(bundle, place) for place in (0, 1))
    bits = (f"{at}.{added(place)[1]}" for place, at in enumerate((LEFT, RIGHT)))
    on = [*map(_equal, bundle.keys), f"(({' & '.join(bits)}) <> 0)"]
    return SharedJoin(bundle.left, bundle.right, (left, right), "INNER", " AND ".join(on))


def shared_name(place: int, column: str) -> str:
    """Return what a column of a side's input is called in the shared join."""
    return own(f"{SIDES[place]}_of_{column}")


def added(place: int) -> tuple[str, str]:
    """Return the columns of a side's rows with their audience, and with its bits."""
    audience, bits = (own(f"{SIDES[place]}_{each}") for each in ADDED)
    return audience, bits


def columns_of(member: JoinMember) -> dict[str, str]:
    """Return what the columns of a member's join are called in the shared one."""
    return {
        out: shared_name(place, name)
        for place, side in enumerate(member.join.sides)
        for name, out in side.columns
    }


def bit_of(join: str) -> int:
    """Return the bit of a join among those that rows carry: the same at any time."""
    return 1 << int(join, 16) % BITS_A_COLUMN


def joins_of(members: Sequence[JoinMember]) -> dict[str, JoinMember]:
    """Return one member of each join, by the join's key."""
    return {key(member.join): member for member in sorted(members, key=lambda each: each.key)}


def _side(bundle: JoinBundle, place: int) -> JoinSide:
    sides = [member.join.sides[place] for member in bundle.members]
    wanted = {name for side in sides for name, _ in side.columns}
    columns = tuple(
        (name, shared_name(place, name))
        for name in bundle.inputs[place].schema.names
        if name in wanted
    )
    return JoinSide(bundle.met[place], max((side.width for side in sides), default=0), columns)


def _equal(key: JoinKey) -> str:
    left, right = (quoted(shared_name(at, name)) for at, name in enumerate((key.left, key.right)))
    return f"({LEFT}.{left} {'<=>' if key.null_safe else '='} {RIGHT}.{right})"
