"""From a flow as it is written to the flow: names looked up, templates applied."""

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from penstock.errors import BadFlowError, PenstockError, UnknownFunctionError
from penstock.functions.flows.flow import Dataflow
from penstock.functions.flows.templates import (
    auto,
    central,
    parallel,
    partition,
    pcc,
    pipe,
    replicated,
    window_distribute,
    window_split,
)
from penstock.functions.library.registry import Registry
from penstock.functions.operators.function import Function
from penstock.model.functions.flows import Term

Made = TypeVar("Made")
LIST = "array"  # the constructor of a list of literals

TEMPLATES: dict[str, Callable[..., Dataflow]] = {
    each.__name__: each
    for each in (
        auto,
        central,
        partition,
        parallel,
        pipe,
        pcc,
        replicated,
        window_split,
        window_distribute,
    )
}


def flow_of(term: Term, registry: Registry) -> Dataflow:
    """Return the flow that a text describes; a function alone is central."""
    made = _made(term, registry)
    if isinstance(made, Dataflow):
        return made
    flow: Dataflow = _placed(term, lambda: central(made))
    return flow


def _made(term: Term, registry: Registry) -> Any:
    values = [_value(each, registry) for each in term.arguments]
    if term.name.lower() == LIST:
        return tuple(values)
    named = {name.lower(): _value(each, registry) for name, each in term.named}
    template = TEMPLATES.get(term.name.lower())
    if template is not None:
        return _placed(term, lambda: _applied(template, values, named))
    function = _placed(term, lambda: _found(term.name, registry))
    if not values and not named:
        return function
    return _placed(term, lambda: function(*values, **named))


def _value(value: Any, registry: Registry) -> Any:
    if isinstance(value, Term) and value.name.lower() == auto.__name__:
        raise BadFlowError(
            "auto is a whole flow, and stands in no other",
            hint="FLOW auto(f) OVER stream, and another query over what it gives",
            place=value.place,
        )
    return _made(value, registry) if isinstance(value, Term) else value


def _found(name: str, registry: Registry) -> Function:
    try:
        return registry[name]
    except UnknownFunctionError as error:
        raise UnknownFunctionError(
            f"there is no function or template {name}", hint=error.hint
        ) from None


def _applied(
    template: Callable[..., Dataflow], values: list[Any], named: dict[str, Any]
) -> Dataflow:
    signature = inspect.signature(template)
    try:
        signature.bind(*values, **named)
    except TypeError as error:
        shown = ", ".join(str(each).split(":")[0] for each in signature.parameters.values())
        raise BadFlowError(
            f"{template.__name__}: {error}", hint=f"write {template.__name__}({shown})"
        ) from None
    return template(*values, **named)


def _placed(term: Term, work: Callable[[], Made]) -> Made:
    """Return what is worked out, or say where in the text it failed."""
    try:
        return work()
    except PenstockError as error:
        error.place = error.place or term.place
        raise
