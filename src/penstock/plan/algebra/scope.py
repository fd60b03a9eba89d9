"""Names in a SELECT: which column each one means."""

import difflib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.errors import BadQueryError, Place, UnknownColumnError
from penstock.model.own_names import BOUNDS, own

# The qualifier of a window's own bounds, so that they never meet a column of the input.
WINDOW = own("bounds")


@dataclass(frozen=True, slots=True)
class Relation:
    """One FROM entry: its alias, and how each of its columns is written at this point.

    `merged` are columns (lower case) that USING made one with another input's: by their name alone
    the other's are meant.
    """

    alias: str
    columns: tuple[tuple[str, exp.Expr], ...]
    merged: frozenset[str] = frozenset()

    def by_name(self) -> "Relation":
        """Return what a name alone may mean."""
        left = (each for each in self.columns if each[0].lower() not in self.merged)
        return Relation(self.alias, tuple(left))

    def find(self, name: str) -> exp.Expr | None:
        """Return how the column is written, or None."""
        wanted = name.lower()
        return next((sql for known, sql in self.columns if known.lower() == wanted), None)


@dataclass(frozen=True, slots=True)
class Scope:
    """The relations in sight."""

    relations: tuple[Relation, ...]

    def resolve(self, tree: exp.Expr, *, known: Iterable[str] = ()) -> exp.Expr:
        """Return a copy in which every column is written as its relation says.

        `known` are names that Spark will find by itself, such as an earlier alias.
        """
        spared = {name.lower() for name in known}

        def written(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
                return node
            if node.table == WINDOW or is_bound(node) or self._is_spared(node, spared):
                return node
            return _placed(self._lookup(node), node)

        return self._uncaptured(tree.copy()).transform(written, copy=False)

    def knows(self, column: exp.Column) -> bool:
        """Say whether there is such a column, in one input or in several."""
        try:
            self.resolve(column)
        except UnknownColumnError:
            return False
        except BadQueryError:
            return True
        return True

    def star(self, qualifier: str = "") -> Iterator[tuple[str, exp.Expr]]:
        """Yield the columns that `*` or `a.*` stands for, each with its input's name."""
        for relation in self.relations:
            if not qualifier or relation.alias.lower() == qualifier.lower():
                for name, _ in (relation if qualifier else relation.by_name()).columns:
                    parts = (name, relation.alias) if relation.alias else (name,)
                    yield name, exp.column(*(exp.to_identifier(n, quoted=True) for n in parts))

    def beside(self, side: str) -> "Scope":
        """Return the scope as the condition of a join sees it, as one of its sides."""

        def beside(sql: exp.Expr) -> exp.Expr:
            return over_columns(sql, lambda name: sided(side, name))

        return Scope(
            tuple(
                replace(each, columns=tuple((name, beside(sql)) for name, sql in each.columns))
                for each in self.relations
            )
        )

    def has(self, alias: str) -> bool:
        """Say whether a relation of that alias is in sight."""
        return any(each.alias.lower() == alias.lower() for each in self.relations)

    def _uncaptured(self, tree: exp.Expr) -> exp.Expr:
        """Rename variables of lambdas that would capture a column: `x -> x + t.x` loses its t."""
        columns = {sql.name.lower() for each in self.relations for _, sql in each.columns}
        for function in tree.find_all(exp.Lambda):
            for variable in function.expressions:
                if variable.name.lower() in columns:
                    _rename_variable(function, variable.name)
        return tree

    def _is_spared(self, column: exp.Column, spared: set[str]) -> bool:
        first, *others = (part.name for part in column.parts)
        return first.lower() in spared and not (others and self.has(first))

    def _lookup(self, column: exp.Column) -> exp.Expr:
        """Return how the column is written: a.b is b of input a, else field b of column a.

        That is Spark's rule. Where there is neither, the input is what was meant.
        """
        path = [part.name for part in column.parts]
        by_name = [each.by_name() for each in self.relations]
        within = [each for each in self.relations if each.alias.lower() == path[0].lower()]
        is_of_input = any(each.find(path[1]) for each in within) if len(path) > 1 else False
        is_field = any(each.find(path[0]) for each in by_name)
        if is_of_input or (len(path) > 1 and within and not is_field):
            return self._field(column, within, path[1:])
        return self._field(column, by_name, path)

    def _field(
        self, column: exp.Column, relations: Iterable[Relation], path: list[str]
    ) -> exp.Expr:
        found = [sql for each in relations if (sql := each.find(path[0])) is not None]
        if len(found) > 1:
            raise BadQueryError(
                f"column {path[0]} is in several inputs",
                hint="write it with its input's name before it",
                place=place_of(column),
            )
        if not found:
            raise self._unknown(column)
        fields = [exp.to_identifier(name, quoted=True) for name in path[1:]]
        return exp.Dot.build([found[0].copy(), *fields]) if fields else found[0].copy()

    def _unknown(self, column: exp.Column) -> UnknownColumnError:
        names = [name for each in self.relations for name, _ in each.columns]
        near = difflib.get_close_matches(column.name.lower(), [n.lower() for n in names], 1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(names)}"
        written = ".".join(part.name for part in column.parts)
        return UnknownColumnError(f"no column {written}", hint=hint, place=place_of(column))


def relation(alias: str, columns: Iterable[str], write: Callable[[str], exp.Expr]) -> Relation:
    """Return a relation whose columns are written by `write`."""
    return Relation(alias, tuple((name, write(name)) for name in columns))


def plain(name: str) -> exp.Expr:
    """Write a column by its name alone."""
    return exp.column(exp.to_identifier(name, quoted=True))


def sided(side: str, name: str) -> exp.Expr:
    """Write a column of one side of a join."""
    return exp.column(exp.to_identifier(name, quoted=True), table=side)


def over_columns(tree: exp.Expr, write: Callable[[str], exp.Expr]) -> exp.Expr:
    """Return a copy in which every column is written anew, by its name."""
    return tree.copy().transform(
        lambda node: write(node.name) if isinstance(node, exp.Column) else node
    )


def bounds(alias: str) -> Relation:
    """Return the relation of a window's own bounds, over what gives them."""
    return Relation(alias, tuple((name, plain(column)) for name, column in BOUNDS.items()))


def within_window(scope: Scope) -> Scope:
    """Return the scope with a window's bounds, which their names alone mean, as over aggregates."""
    named = frozenset(BOUNDS)
    own = (replace(each, merged=each.merged | named) for each in scope.relations)
    return Scope((*own, bounds("")))


def place_of(node: exp.Expr) -> Place | None:
    """Return where the node stands in its text, if the parser noted it."""
    for each in node.walk():
        if "line" in each.meta:
            end, start = each.meta.get("end", 0), each.meta.get("start", 0)
            return Place(each.meta["line"], max(1, each.meta.get("col", 1) - (end - start)))
    return None


def _placed(written: exp.Expr, column: exp.Expr) -> exp.Expr:
    """Return what stands for a column with the column's place in the text."""
    where = next((each.meta for each in column.walk() if "line" in each.meta), {})
    written.meta.update(where)
    return written


def _rename_variable(function: exp.Expr, name: str) -> None:
    """Give a variable another name; the parser leaves variables as identifiers, not as columns."""
    for node in list(function.find_all(exp.Identifier)):
        is_field = isinstance(node.parent, exp.Dot) and node.arg_key == "expression"
        is_other = is_field or node.arg_key == "alias" or isinstance(node.parent, exp.Column)
        if node.name.lower() == name.lower() and not is_other:
            node.replace(exp.to_identifier(own(name), quoted=True))


def is_bound(column: exp.Column) -> bool:
    """Say whether the column is a lambda's own variable."""
    node: exp.Expr | None = column
    while node is not None:
        if isinstance(node, exp.Lambda) and any(
            each.name.lower() == column.parts[0].name.lower() for each in node.expressions
        ):
            return True
        node = node.parent
    return False
