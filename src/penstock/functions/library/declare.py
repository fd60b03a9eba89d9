"""`@stream_function`: a function over numpy arrays, items or Arrow tables becomes one of ours.

What the function is called with depends on what it is `over`:

vectors  each vector column by itself, as an (n, N) array of all vectors of one length
items    Items (for windows: Windows), with all columns
table    an Arrow table
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_type_hints

import pyarrow as pa

from penstock.errors import BadFlowError, TypeMismatchError
from penstock.functions.data.items import Items, StreamType
from penstock.functions.data.results import same, with_vectors
from penstock.functions.data.vectors import Array, Kind, Vectors, checked_rows, kind_of, together
from penstock.functions.data.windows import ItemWindows, Window
from penstock.functions.operators.function import REQUIRED, Function, Parameter, Result, Role, Split

Over = Literal["vectors", "items", "table"]
PARAMETERS = (int, float, str, bool, tuple)


@dataclass(frozen=True, slots=True)
class VectorsOf:
    """The type that goes in, all its vectors of one kind."""

    kind: Kind

    def __call__(self, given: StreamType, parameters: Mapping[str, Any]) -> StreamType:
        """Return the type that comes out."""
        return with_vectors(given, parameters).with_vectors(dict.fromkeys(given.vectors, self.kind))


@dataclass(frozen=True, slots=True)
class Adapter:
    """Calls a user's function with what it is over, and makes items of what it returns."""

    function: Callable[..., Any]
    over: Over
    result: Result

    def __call__(self, given: Any, *shares: int, **parameters: Any) -> Any:
        """Return items, a mask, or Made."""
        several = isinstance(given, (list, tuple))
        first = next(each for each in given if each is not None) if several else given
        source = first.last if isinstance(first, ItemWindows) else first
        kind = self._kind(source.type, parameters)
        if self.over == "vectors":
            return self._over_vectors(given, source, kind, shares, parameters)
        what = _tables(given) if self.over == "table" else given
        return _items(self.function(what, *shares, **parameters), source, kind)

    def _kind(self, given: StreamType, parameters: Mapping[str, Any]) -> StreamType:
        named = {name: value for name, value in parameters.items() if name != "position"}
        return self.result if isinstance(self.result, StreamType) else self.result(given, named)

    def _over_vectors(
        self,
        given: Any,
        source: Items,
        kind: StreamType,
        shares: Sequence[int],
        parameters: Mapping[str, Any],
    ) -> Items:
        def call(rows: Any) -> Array:
            made: Array = self.function(rows, *shares, **parameters)
            return made

        made = {}
        for name, made_of in kind.vectors.items():
            if isinstance(given, ItemWindows):
                made[name] = Vectors.of(
                    checked_rows(call(given.stack(name)), len(given), made_of), made_of
                )
            else:
                made[name] = self._of_columns(given, name, made_of, call)
        return source.with_columns(kind, made)

    def _of_columns(
        self, given: Any, name: str, made_of: Kind, call: Callable[[Any], Array]
    ) -> Vectors:
        if isinstance(given, Items):
            return given.vectors(name).map(call, made_of)
        return together([each.vectors(name) for each in given], call, made_of)


def stream_function(  # noqa: PLR0913 - the options are the declaration
    function: Callable[..., Any] | None = None,
    *,
    result: StreamType | str | Result = "same",
    over: Over = "vectors",
    role: Role | str = Role.TRANSFORM,
    takes: StreamType | None = None,
    window: Window | None = None,
    split: Split | None = None,
    name: str | None = None,
    version: int = 1,
    deterministic: bool = True,
) -> Any:
    """Make a Python function one that flows and SQL can call, as a decorator.

    Its keyword-only arguments are parameters, each with a type: `def smooth(rows, *, width: int)`.
    `Connection.register` makes the function known.

    Args:
        function: the function. It is called with what `over` says, and changes nothing but what
            it returns.
        result: what it returns: `"same"`, a kind of vectors such as `"complex vector"`, a type, or
            a function from the type that goes in.
        over: `"vectors"`: each vector column as an array with a row for each item; `"items"`: all
            columns; `"table"`: an Arrow table.
        role: `"transform"`, `"partition"` (called with the number of parts and the part's own),
            `"combine"` (called with all parts), or another of `penstock.functions.Role`.
        takes: the type that its input has to be, where not any will do.
        window: the neighbouring items that it needs, such as `sliding_window(4)`.
        split: how an item is computed in parts, by a partition and a combination.
        name: its name in SQL; the Python name where it is left out.
        version: raise it when the function gives other results: queries over the old version are
            held when a home is opened again.
        deterministic: False for one that may give another result for the same items; no standing
            query may call it.

    Returns:
        The stream function, or a decorator where `function` is left out.
    """
    if function is None:
        return lambda given: stream_function(
            given,
            result=result,
            over=over,
            role=role,
            takes=takes,
            window=window,
            split=split,
            name=name,
            version=version,
            deterministic=deterministic,
        )
    says = _result(result)
    return Function(
        (name or function.__name__).lower(),
        Role.WINDOW if window is not None else Role(role),
        Adapter(function, over, says),
        says,
        takes,
        _parameters(function),
        window,
        version=version,
        source=_source(function),
        split=split,
        deterministic=deterministic,
    )


def _result(result: StreamType | str | Result) -> Result:
    if not isinstance(result, str):
        return result
    if result == "same":
        return same
    kind = kind_of(result)
    if kind is None:
        raise BadFlowError(
            f"a function cannot return {result!r}",
            hint="'same', a StreamType, or " + ", ".join(repr(each.value) for each in Kind),
        )
    return VectorsOf(kind)


def _parameters(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    hints = get_type_hints(function)
    found = []
    for each in inspect.signature(function).parameters.values():
        if each.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        kind = hints.get(each.name)
        if kind not in PARAMETERS:
            raise BadFlowError(
                f"parameter {each.name} of {function.__name__} has to say what it is",
                hint=f"such as {each.name}: float",
            )
        default = REQUIRED if each.default is inspect.Parameter.empty else each.default
        found.append(Parameter(each.name, kind, default))
    return tuple(found)


def _source(function: Callable[..., Any]) -> str:
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return ""


def _tables(given: Any) -> Any:
    if isinstance(given, (list, tuple)):
        return [each if each is None else each.table for each in given]
    if isinstance(given, ItemWindows):
        raise TypeMismatchError("windows are not tables", hint="write over='items'")
    return given.table


def _items(answer: Any, source: Items, kind: StreamType) -> Any:
    if isinstance(answer, pa.RecordBatch):
        answer = pa.Table.from_batches([answer])
    if isinstance(answer, pa.Table):
        answer = dict(zip(answer.column_names, answer.columns, strict=True))
    if isinstance(answer, Mapping):
        return source.with_columns(kind, answer)
    return answer
