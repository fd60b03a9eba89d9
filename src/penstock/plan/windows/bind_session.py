"""[SESSION GAP g]: from the window to its operator."""

from dataclasses import replace
from datetime import timedelta

from penstock.errors import BadQueryError
from penstock.model.schema import Schema
from penstock.model.windows import SessionWindow
from penstock.plan.algebra.mentioned import mentioned
from penstock.plan.operators import Operator, SessionAggregate
from penstock.plan.relations.sources import LEAF, Analyst
from penstock.plan.windows.asked import RequestedAggregates

MICROSECOND = timedelta(microseconds=1)


def make(
    window: SessionWindow,
    below: Operator,
    asked: RequestedAggregates,
    analyst: Analyst,
) -> Operator:
    """Return the operator that answers for the sessions of each group."""
    if not below.times:
        raise BadQueryError(
            "a session needs a stream with an event time",
            hint="give the stream TIMESTAMP BY, or select window_start in the query below",
        )
    raw = None
    if any(each.is_holistic for _, each in asked.aggregates):
        raw = mentioned(asked.partials(), below.schema)
    gap = window.gap // MICROSECOND
    bare = SessionAggregate(
        below, below.times[0], gap, asked.keys, asked.aggregates, Schema(), raw, asked.sets
    )
    return replace(bare, schema=analyst.schema(bare.sql([LEAF]), {LEAF: below.schema}))
