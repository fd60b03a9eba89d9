"""Stream query functions as frozen data, and calls of them with their parameters filled in."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

from penstock.errors import BadFlowError, TypeMismatchError, UnknownOptionError
from penstock.functions.data.items import StreamType
from penstock.functions.data.windows import Window

BRANCH = "#"  # as a parameter: the number of the branch that the function stands in (GSDM-25)
REQUIRED = object()

Result = StreamType | Callable[[StreamType, Mapping[str, Any]], StreamType]


class Role(Enum):
    """Where a function can stand, and what it is called with.

    transform  items -> items, a mask of items, or Made; each item for itself
    window     Windows -> one item for each window, or Made
    partition  items, n, i -> those of branch i, or each item's share of branch i
    combine    the parts of some items, a run of items from each input -> these items
    merge      several streams -> one; `apply` makes the operator
    select     a SELECT over each item for itself; `apply` makes the operator
    """

    TRANSFORM = "transform"
    WINDOW = "window"
    PARTITION = "partition"
    COMBINE = "combine"
    MERGE = "merge"
    SELECT = "select"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that is not a stream: its name, what it is, and its value if none is given."""

    name: str
    type: type
    default: Any = REQUIRED

    def fits(self, value: Any) -> bool:
        """Whether the value can be passed: a whole number also where a real one is asked for."""
        if value == BRANCH and isinstance(value, str):
            return True
        if value is None:
            return self.default is None
        if isinstance(value, bool) and self.type is not bool:
            return False
        wanted = (int, float) if self.type is float else self.type
        return isinstance(value, wanted)


@dataclass(frozen=True, slots=True)
class Split:
    """How one item is computed in parts (GSDM-62): what splits it, and what combines the results.

    Both take the parameters that they share by name with the function. `degrees` says how many
    parts there can be.
    """

    part: "Function"
    combine: "Function"
    degrees: Literal["any", "powers of two"] = "any"

    def allows(self, degree: int) -> bool:
        """Whether an item can be split in so many parts."""
        return degree >= 1 and (self.degrees == "any" or degree & (degree - 1) == 0)


@dataclass(frozen=True)
class Function:
    """A function over the items of a stream.

    `result` is the type of what it gives, or says it from the type of what it takes. `takes` is a
    type that its input has to be, or None where `result` judges that. `counted` functions are told
    the places of items since the stream began, as `position`. `version` and `source` say which
    code it is, `split` how an item can be computed in parts. After a crash it is called again with
    the same items; one that is not `deterministic` is for one-time SELECTs alone.
    """

    name: str
    role: Role
    apply: Callable[..., Any] = field(repr=False)
    result: Result = field(repr=False)
    takes: StreamType | None = None
    parameters: tuple[Parameter, ...] = ()
    window: Window | None = None
    counted: bool = False
    version: int = 1
    source: str = field(default="", repr=False)
    split: Split | None = field(default=None, repr=False)
    deterministic: bool = True

    def __post_init__(self) -> None:
        """Refuse a name that SQL cannot call."""
        if not (self.name.isascii() and self.name.isidentifier()):
            raise BadFlowError(
                f"a function cannot be called {self.name!r}",
                hint="take letters, digits and underscores",
            )
        known = {each.name for each in self.parameters}
        unknown = [name for name in (self.window.names if self.window else ()) if name not in known]
        if unknown:
            raise BadFlowError(
                f"the window of {self.name} depends on {unknown[0]}, which is no parameter",
                hint=f"write def {self.name}(…, *, {unknown[0]}: int)",
            )

    def __call__(self, *values: Any, **named: Any) -> "Call":
        """Return the function with its parameters filled in, by place or by name."""
        if len(values) > len(self.parameters):
            raise UnknownOptionError(
                f"{self.name} takes {len(self.parameters)} parameters, and {len(values)} came",
                hint=self.usage(),
            )
        given = dict(zip((each.name for each in self.parameters), values, strict=False))
        twice = given.keys() & named.keys()
        unknown = named.keys() - {each.name for each in self.parameters}
        if twice or unknown:
            what = "has no parameter" if unknown else "was given twice the parameter"
            raise UnknownOptionError(
                f"{self.name} {what} {', '.join(sorted(unknown or twice))}", hint=self.usage()
            )
        return Call(self, tuple(self._filled({**given, **named}).items()))

    def usage(self) -> str:
        """Return how the function is called."""
        shown = [
            each.name if each.default is REQUIRED else f"{each.name}={each.default!r}"
            for each in self.parameters
        ]
        return f"{self.name}({', '.join(shown)})"

    def result_type(self, given: StreamType, parameters: Mapping[str, Any]) -> StreamType:
        """Return the type of what comes out, or refuse what cannot go in."""
        if self.takes is not None and not given.is_a(self.takes):
            raise TypeMismatchError(
                f"{self.name} takes items of type {self.takes.name}, not {given.name}",
                hint=f"define {given.name} UNDER {self.takes.name}",
            )
        if isinstance(self.result, StreamType):
            return self.result
        return self.result(given, parameters)

    def _filled(self, given: Mapping[str, Any]) -> dict[str, Any]:
        filled = {}
        for each in self.parameters:
            value = given.get(each.name, each.default)
            if value is REQUIRED:
                raise BadFlowError(f"{self.name} needs {each.name}", hint=self.usage())
            if each.type is Call and isinstance(value, Function):
                value = value()
            if each.type is tuple and isinstance(value, list):
                value = tuple(value)
            if not each.fits(value):
                raise TypeMismatchError(
                    f"{each.name} of {self.name} is {value!r}, not {_told(each.type)}",
                    hint=self.usage(),
                )
            filled[each.name] = value
        return filled


@dataclass(frozen=True)
class Call:
    """A function with its parameters."""

    function: Function
    arguments: tuple[tuple[str, Any], ...] = ()

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the parameters by name."""
        return dict(self.arguments)

    def sharing(self, other: Function) -> "Call":
        """Return a call of another function with the parameters that both have."""
        names = {each.name for each in other.parameters}
        return other(**{name: value for name, value in self.arguments if name in names})

    @property
    def role(self) -> Role:
        """Return where the function can stand."""
        return self.function.role

    def in_branch(self, number: int) -> "Call":
        """Return the call as branch `number` makes it: `#` replaced, however deep it stands."""
        return Call(
            self.function, tuple((name, _numbered(value, number)) for name, value in self.arguments)
        )

    def has_branch(self) -> bool:
        """Whether a `#` stands in it that no template has replaced."""
        return any(
            value.has_branch() if isinstance(value, Call) else value == BRANCH
            for _, value in self.arguments
        )

    def __str__(self) -> str:
        """Return the call as it is written."""
        given = [
            f"{name}={value if isinstance(value, Call) else repr(value)}"
            for name, value in self.arguments
            if value != _default(self.function, name)
        ]
        return f"{self.function.name}({', '.join(given)})" if given else self.function.name


def as_call(what: object) -> Call:
    """Return a function without parameters as a call of it; refuse what is no function."""
    if isinstance(what, Function):
        return what()
    if not isinstance(what, Call):
        raise BadFlowError(f"{what!r} is no function", hint="such as fft3 or s_merge(timeout=0.1)")
    return what


def _numbered(value: Any, number: int) -> Any:
    if isinstance(value, Call):
        return value.in_branch(number)
    return number if value == BRANCH and isinstance(value, str) else value


def _default(function: Function, name: str) -> Any:
    return next(each.default for each in function.parameters if each.name == name)


def _told(kind: type) -> str:
    names = {
        int: "a whole number",
        float: "a number",
        str: "a text",
        bool: "true or false",
        tuple: "a list",
    }
    return names.get(kind, "a function")
