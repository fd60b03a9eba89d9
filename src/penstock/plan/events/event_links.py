"""What WHERE and PARTITION BY say of an event's constituents.

An equality of attributes that links *every* constituent is part of the matching: detection goes on
for each value by itself. A condition on one constituent is a mask: what it refuses never occurs.
Any other condition is asked of detections.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from penstock.errors import BadEventError, TypeMismatchError, UnknownColumnError
from penstock.model.schema import Schema
from penstock.plan.algebra.clauses import conjuncts, refuse_deep
from penstock.plan.algebra.scope import Scope, is_bound, place_of, plain, relation

Attribute = tuple[str, str]  # a constituent's label, and one of its columns


@dataclass(frozen=True, slots=True)
class Links:
    """`keys` holds a tuple of columns for each label, all of the same length.

    `masks` are conditions over the columns of one constituent, by its label, and `guards` those
    that its keys need; those over several constituents are in `across`, where a column's table is
    its constituent's label.
    """

    keys: Mapping[str, tuple[str, ...]]
    masks: Mapping[str, list[exp.Expr]]
    guards: Mapping[str, list[exp.Expr]]
    across: list[exp.Expr]


def scope_of(schemas: Mapping[str, Schema]) -> Scope:
    """Return the names in sight; each column is written with its constituent's label."""
    return Scope(
        tuple(
            relation(label, schema.names, lambda name, label=label: _attribute(label, name))  # type: ignore[misc]
            for label, schema in schemas.items()
        )
    )


def links_of(
    schemas: Mapping[str, Schema], where: exp.Expr | None, partition_by: Sequence[exp.Expr]
) -> Links:
    """Return what links the constituents and what masks them; `schemas` are by label."""
    refuse_deep(where, "WHERE")
    equal = _Equal()
    for column in partition_by:
        equal.join(_in_all(schemas, column))
    masks: dict[str, list[exp.Expr]] = {label: [] for label in schemas}
    across: list[exp.Expr] = []
    linking: list[tuple[Attribute, exp.Expr]] = []
    for each in _conditions(schemas, where):
        labels = {label for label, _ in attributes(each)}
        if len(labels) == 1:
            masks[labels.pop()].append(_unlabelled(each))
        elif (pair := _equality(each)) is not None:
            equal.join(pair)
            linking.append((pair[0], each))
        elif labels:
            across.append(each)
        else:
            raise BadEventError("a condition of WHERE speaks of no event", place=place_of(each))
    whole = [group for group in equal.groups() if {label for label, _ in group} == set(schemas)]
    across += [each for one, each in linking if not any(one in group for group in whole)]
    guards: dict[str, list[exp.Expr]] = {label: [] for label in schemas}
    keys = {label: tuple(_key(group, label, guards) for group in whole) for label in schemas}
    _check_types(schemas, keys)
    return Links(keys, masks, guards, across)


def _conditions(schemas: Mapping[str, Schema], where: exp.Expr | None) -> Iterator[exp.Expr]:
    if where is not None:
        yield from conjuncts(scope_of(schemas).resolve(where))


def _in_all(schemas: Mapping[str, Schema], column: exp.Expr) -> list[Attribute]:
    found = []
    for label, schema in schemas.items():
        if (known := schema.find(column.name)) is None:
            raise UnknownColumnError(
                f"{label} has no attribute {column.name}",
                hint="PARTITION BY names an attribute that all events have; WHERE links others",
                place=place_of(column),
            )
        found.append((label, known.name))
    return found


def _key(group: set[Attribute], label: str, guards: dict[str, list[exp.Expr]]) -> str:
    """Return a constituent's column of a key, which others equal; the detector knows of NULL."""
    first, *others = sorted(column for owner, column in group if owner == label)
    guards[label] += [exp.EQ(this=plain(first), expression=plain(each)) for each in others]
    return first


def _check_types(schemas: Mapping[str, Schema], keys: Mapping[str, tuple[str, ...]]) -> None:
    for columns in zip(*keys.values(), strict=True):
        types = {}
        for label, column in zip(keys, columns, strict=True):
            found = schemas[label].find(column)
            types[f"{label}.{column}"] = found.type if found is not None else ""
        if len(set(types.values())) > 1:
            shown = ", ".join(f"{name} is {type_}" for name, type_ in types.items())
            raise TypeMismatchError(
                f"events cannot be linked by values of different types: {shown}",
                hint="CAST one of them in its own event",
            )


def attributes(tree: exp.Expr) -> Iterator[Attribute]:
    """Yield the attributes that an expression over labelled columns speaks of."""
    for node in tree.find_all(exp.Column):
        if not is_bound(node):
            yield node.table, node.name


def _equality(tree: exp.Expr) -> list[Attribute] | None:
    if isinstance(tree, exp.EQ) and all(
        isinstance(side, exp.Column) for side in (tree.left, tree.right)
    ):
        return list(attributes(tree))
    return None


def _unlabelled(tree: exp.Expr) -> exp.Expr:
    def bare(node: exp.Expr) -> exp.Expr:
        return plain(node.name) if isinstance(node, exp.Column) and not is_bound(node) else node

    return tree.copy().transform(bare, copy=False)


def _attribute(label: str, name: str) -> exp.Expr:
    return exp.column(
        exp.to_identifier(name, quoted=True), table=exp.to_identifier(label, quoted=True)
    )


class _Equal:
    """Attributes that have to be equal, in groups."""

    def __init__(self) -> None:
        self._groups: list[set[Attribute]] = []

    def join(self, attributes: Iterable[Attribute]) -> None:
        """Say that these are all equal."""
        joined = set(attributes)
        apart = [group for group in self._groups if group.isdisjoint(joined)]
        met = [group for group in self._groups if not group.isdisjoint(joined)]
        self._groups = [*apart, joined.union(*met)]

    def groups(self) -> list[set[Attribute]]:
        """Return the groups in one order, however they were found."""
        return sorted(self._groups, key=sorted)
