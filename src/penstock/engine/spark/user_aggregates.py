"""Users' aggregates as Spark functions: one call of Python for each group, never for a tuple.

The functions below are made inside others, so that Spark sends them by value: its workers need
not have Penstock.
"""

import functools
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import DataType

from penstock.engine.spark.application.session import Sessions
from penstock.engine.spark.spark_errors import sentence
from penstock.engine.spark.spark_functions import DOORS
from penstock.errors import BadOptionError, NameTakenError
from penstock.model.functions.user_aggregates import UserAggregate

Function = Callable[..., Any]


class UserAggregates:
    """The aggregates that are known, by their names in lower case."""

    def __init__(self, sessions: Sessions) -> None:
        """Make them known to these sessions."""
        self._sessions = (sessions.analysis, sessions.small, sessions.large, sessions.wide)
        self.known: dict[str, UserAggregate] = {}

    def register(self, aggregate: UserAggregate) -> None:
        """Make an aggregate known, or put new functions into the place of those of its name."""
        name = aggregate.name.lower()
        before = self.known.get(name)
        taken = name in DOORS or self._sessions[0].catalog.functionExists(name)
        if before is None and taken:
            raise NameTakenError(f"Spark has a function {name}", hint="take another name")
        if before is not None and before.types != aggregate.types:
            raise NameTakenError(
                f"aggregate {name} has other types, and queries may use it",
                hint="take another name; functions of the same types may be replaced",
            )
        try:
            state, returns = (
                to_arrow_type(DataType.fromDDL(kind), timezone="UTC")
                for kind in (aggregate.state, aggregate.returns)
            )
            for session in self._sessions:
                _register(session, aggregate, state, returns)
        except PySparkException as error:
            raise BadOptionError(f"aggregate {name}: {sentence(error)}") from error
        self.known[name] = aggregate


def _register(
    session: SparkSession, aggregate: UserAggregate, state: pa.DataType, returns: pa.DataType
) -> None:
    functions = {
        aggregate.part("update"): (_updates(aggregate, state), aggregate.state),
        aggregate.part("merge"): (_merges(aggregate, state), aggregate.state),
        aggregate.part("finish"): (_finishes(aggregate, returns), aggregate.returns),
        # A one-time SELECT calls it as it stands, and Spark judges a query's call by it.
        aggregate.name: (_whole(aggregate), aggregate.returns),
    }
    for name, (function, kind) in functions.items():
        made: Any = arrow_udf(function, kind)  # type: ignore[call-overload]  # by its hints
        session.udf.register(name, made)


def _updates(aggregate: UserAggregate, state: pa.DataType) -> Function:
    init, update = aggregate.init, aggregate.update

    def updates(groups: pa.Array) -> pa.Array:
        found = [update(init(), *group.values.flatten()) for group in groups]
        return pa.array(found, state)

    return updates


def _merges(aggregate: UserAggregate, state: pa.DataType) -> Function:
    init, merge, reduce = aggregate.init, aggregate.merge, functools.reduce

    def merges(groups: pa.Array) -> pa.Array:
        found = [group.as_py() for group in groups]
        return pa.array([reduce(merge, each) if each else init() for each in found], state)

    return merges


def _finishes(aggregate: UserAggregate, returns: pa.DataType) -> Function:
    init, finish = aggregate.init, aggregate.finish

    def finishes(states: pa.Array) -> pa.Array:
        found = [each.as_py() for each in states]
        return pa.array([finish(init() if each is None else each) for each in found], returns)

    return finishes


def _whole(aggregate: UserAggregate) -> Function:
    init, update, finish = aggregate.init, aggregate.update, aggregate.finish

    def whole(*arrays: pa.Array) -> float:  # a hint that Spark reads as: one value of a group
        return finish(update(init(), *arrays))  # type: ignore[no-any-return]

    return whole
