"""The functions that a flow can name: those that are built in, and those that users add."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches

from penstock.errors import NameTakenError, UnknownFunctionError
from penstock.functions.library.fourier import fft3, fft3_combine, fft3_part
from penstock.functions.library.partitions import hash_part, rr_part
from penstock.functions.library.signals import identity, magnitude, polarize, xchannel, xmagn
from penstock.functions.library.splits import (
    block_part,
    concat_combine,
    convolve,
    matmul,
    matmul_part,
    overlap_add,
    sort,
    sort_combine,
)
from penstock.functions.library.window_functions import (
    sample,
    time_aggregate,
    time_windows,
    window_aggregate,
)
from penstock.functions.operators.function import Function
from penstock.functions.operators.os_join import os_join
from penstock.functions.operators.s_merge import s_merge

BUILT_IN: tuple[Function, ...] = (
    identity,
    fft3,
    magnitude,
    xchannel,
    xmagn,
    polarize,
    sort,
    convolve,
    matmul,
    sample,
    window_aggregate,
    time_aggregate,
    time_windows,
    rr_part,
    hash_part,
    block_part,
    fft3_part,
    matmul_part,
    concat_combine,
    fft3_combine,
    sort_combine,
    overlap_add,
    s_merge,
    os_join,
)


@dataclass(frozen=True)
class Registry:
    """Functions by name, whatever its case; users' own beside the built-in ones."""

    own: tuple[Function, ...] = ()
    built_in: tuple[Function, ...] = field(default=BUILT_IN, repr=False)

    def __iter__(self) -> Iterator[Function]:
        """Walk all functions, the built-in ones first."""
        return iter((*self.built_in, *self.own))

    def find(self, name: str) -> Function | None:
        """Return the function of that name, or None."""
        wanted = name.lower()
        return next(
            (each for each in (*self.own, *self.built_in) if each.name.lower() == wanted), None
        )

    def __getitem__(self, name: str) -> Function:
        """Return the function of that name, or say which there are."""
        found = self.find(name)
        if found is None:
            names = [each.name for each in (*self.built_in, *self.own)]
            close = get_close_matches(name.lower(), names)
            raise UnknownFunctionError(
                f"there is no function {name}",
                hint=f"did you mean {' or '.join(close)}?" if close else f"such as {names[0]}",
            )
        return found

    def with_function(self, function: Function) -> "Registry":
        """Return a registry that knows one more function, or another version of it."""
        if any(each.name == function.name for each in self.built_in):
            raise NameTakenError(
                f"{function.name} is a function that is built in", hint="take another name"
            )
        others = tuple(each for each in self.own if each.name != function.name)
        return Registry((*others, function), self.built_in)

    def without(self, name: str) -> "Registry":
        """Return a registry that no longer knows a user's function."""
        return Registry(
            tuple(each for each in self.own if each.name.lower() != name.lower()), self.built_in
        )
