"""Grids of sensors' readings as their users define them: axes, formulas, bases, perspectives."""

from penstock.model.grids.axis import Axis, Topology
from penstock.model.grids.cells import CELLS
from penstock.model.grids.definitions import (
    AGGREGATES,
    METHODS,
    VARIOGRAMS,
    Aggregate,
    BaseDefinition,
    Convert,
    DataFunction,
    Interpolate,
    Merge,
    Method,
    PerspectiveDefinition,
)
from penstock.model.grids.formula import VALUE, Constant, Formula, Operation, Variable, substituted
from penstock.model.grids.window import NO_WINDOW, Window

__all__ = [
    "AGGREGATES",
    "CELLS",
    "METHODS",
    "NO_WINDOW",
    "VALUE",
    "VARIOGRAMS",
    "Aggregate",
    "Axis",
    "BaseDefinition",
    "Constant",
    "Convert",
    "DataFunction",
    "Formula",
    "Interpolate",
    "Merge",
    "Method",
    "Operation",
    "PerspectiveDefinition",
    "Topology",
    "Variable",
    "Window",
    "substituted",
]
