"""Functions of signals, one item at a time (GSDM-18): pick a channel, select, find polarisation."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.errors import TypeMismatchError
from penstock.functions.data.items import Items, StreamType
from penstock.functions.data.results import same, vector_column, with_vectors
from penstock.functions.data.vectors import Array, Kind, Vectors
from penstock.functions.library.fourier import fourier
from penstock.functions.operators.function import Function, Parameter, Role
from penstock.model.schema import Column

AXES = ("x", "y", "z")
BLOCK = 2**14  # elements at once: what is in between stays in the cache


def _identity(items: Items) -> Items:
    return items


def _channel_type(given: StreamType, parameters: Mapping[str, Any]) -> StreamType:
    name = parameters["column"]
    vector_column(given, name)
    kept = (given.ordering, given[name].name)
    return given.with_columns("channel", tuple(each for each in given.columns if each.name in kept))


def _channel(items: Items, *, column: str) -> Items:
    return items.with_columns(_channel_type(items.type, {"column": column}), {})


def _magnitude_type(given: StreamType, parameters: Mapping[str, Any]) -> StreamType:
    vector_column(given, parameters["column"])
    return given


def _magnitude(items: Items, *, threshold: float, column: str) -> npt.NDArray[np.bool_]:
    greatest = items.vectors(column).map(_greatest, Kind.DOUBLE)
    found = np.zeros(len(items), dtype=bool)
    has = greatest.lengths > 0
    found[has] = greatest.values > threshold
    return found


def _greatest(vectors: Array) -> Array:
    """Return the greatest magnitude of each row's spectrum; of no elements, none."""
    if not vectors.shape[-1]:
        return vectors.real
    magnitudes: Array = np.abs(fourier(vectors))
    greatest: Array = magnitudes.max(axis=-1, keepdims=True)
    return greatest


def _ellipse_type(given: StreamType, _parameters: Mapping[str, Any]) -> StreamType:
    kinds = [vector_column(given, axis) for axis in AXES]
    if not all(kind.is_complex for kind in kinds):
        raise TypeMismatchError(
            f"polarize takes spectra, and a channel of {given.name} is real",
            hint="put fft3 before it",
        )
    wide = Kind.DOUBLE if Kind.DOUBLE_COMPLEX in kinds else Kind.FLOAT
    columns = [given[given.ordering]] if given.ordering else []
    columns += [Column(f"{axis}_{of}", wide.value) for axis in ("major", "minor") for of in AXES]
    return given.with_columns("polar", tuple(columns))


def _ellipse(items: Items) -> Items:
    """Return the axes of the ellipse that (x, y, z) turns on, at each frequency.

    F = e^(iφ) (a + ib) with a ⟂ b and |a| ≥ |b|, for φ half the argument of F·F.
    """
    kind = _ellipse_type(items.type, {})
    wide = kind.vectors["major_x"]
    channels = [items.vectors(axis) for axis in AXES]
    if any((each.lengths != channels[0].lengths).any() for each in channels):
        raise TypeMismatchError("the channels differ in length", hint="give them one length")
    made = {name: np.empty(len(channels[0].values), wide.dtype) for name in kind.vectors}
    for start in range(0, len(channels[0].values), BLOCK):
        some = slice(start, start + BLOCK)
        field = [each.values[some].astype(wide.complex.dtype, copy=False) for each in channels]
        square = sum(channel * channel for channel in field)
        turn = np.exp(np.angle(square).astype(wide.dtype) * wide.complex.dtype.type(-0.5j))
        for axis, channel in zip(AXES, field, strict=True):
            turned = channel * turn
            made[f"major_{axis}"][some] = turned.real
            made[f"minor_{axis}"][some] = turned.imag
    offsets = channels[0].offsets
    return items.with_columns(
        kind, {name: Vectors(wide, values, offsets) for name, values in made.items()}
    )


def _magnitudes_type(given: StreamType, parameters: Mapping[str, Any]) -> StreamType:
    with_vectors(given, parameters)
    return given.with_vectors({name: kind.real for name, kind in given.vectors.items()})


def _magnitudes(items: Items) -> Items:
    kind = _magnitudes_type(items.type, {})
    made = {name: items.vectors(name).map(np.abs, kind.vectors[name]) for name in kind.vectors}
    return items.with_columns(kind, made)


identity = Function("identity", Role.TRANSFORM, _identity, same)
xchannel = Function(
    "xchannel", Role.TRANSFORM, _channel, _channel_type, parameters=(Parameter("column", str, "x"),)
)
xmagn = Function(
    "xmagn",
    Role.TRANSFORM,
    _magnitude,
    _magnitude_type,
    parameters=(Parameter("threshold", float), Parameter("column", str, "x")),
)
polarize = Function("polarize", Role.TRANSFORM, _ellipse, _ellipse_type)
magnitude = Function("magnitude", Role.TRANSFORM, _magnitudes, _magnitudes_type)
