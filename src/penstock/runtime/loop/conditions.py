"""Asking rules: which tuples of an event fire which of them.

What conditions compare with constants is found here, by one search and sort for all of them
(engine/trains/span_picks.py): events are many and their trains small, and a job for each would cost
more than all that it does. Whatever else conditions claim is told of each tuple once, in one
SELECT, as it is for queries that run as one bundle (plan/sharing). Those that ask tables, or what
streams hold, have a SELECT of their own.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np
import pyarrow as pa

from penstock.engine.spark.application.spark_life import refuse_dead
from penstock.engine.spark.jobs.processor import Processor
from penstock.engine.spark.spark_errors import is_data_error
from penstock.engine.states.windows.section_rows import asked_for
from penstock.engine.trains.rows import Rows, empty_table, in_memory, laid_together
from penstock.engine.trains.span_picks import pick
from penstock.errors import describe
from penstock.model.own_names import INPUT, own
from penstock.model.schema import Schema
from penstock.plan.events.bind_rule import BoundRule, plain_picks
from penstock.plan.operators import Project, key
from penstock.plan.operators.bundles.member import ColumnSpans, FlowMember
from penstock.plan.sharing.predicate_index import predicate_index_of
from penstock.plan.sharing.units import select_sql
from penstock.runtime.durable.pending_action import CONDITION, Fired
from penstock.runtime.work.live_rule import LiveRule
from penstock.runtime.work.poison import TriedRows, Work, separated


@dataclass(frozen=True, slots=True)
class ConditionAnswer:
    """The tuples that fire each rule, by its key, and why some rules could not be asked.

    `unasked` are tuples that a rule's condition fails on, such as a division by zero.
    """

    rows: Mapping[str, pa.Table]
    failures: Mapping[str, str]
    unasked: Mapping[str, Sequence[TriedRows]] = field(default_factory=dict)


def ask(
    processor: Processor,
    reader: str,
    rules: Sequence[LiveRule],
    trains: Sequence[Rows],
    held: Callable[[str, ExitStack], list[Rows]],
) -> ConditionAnswer:
    """Return the tuples of some trains that fire each of the rules; `reader` names the views.

    `held` tells what a stream holds now: the same to all rules that ask.
    """
    failures: dict[str, str] = {}
    view = own(reader.replace(":", "_"))
    found = _here(rules, trains)
    wrong: dict[str, Exception] = {}
    found |= _alike(processor, view, _for_spark(rules), trains, wrong)
    unasked: dict[str, list[TriedRows]] = {}
    with ExitStack() as reading:
        look = cache(lambda name: held(name, reading))
        for place, rule in enumerate(rules):
            mine = f"{view}_{place}"
            if rule.bound.conditions is None:
                try:
                    found[rule.key] = _alone(processor, mine, rule, trains, look)
                except Exception as error:
                    wrong[rule.key] = error
            if rule.key in wrong:
                work = partial(_piece, processor, mine, rule, look)
                try:
                    found[rule.key], unasked[rule.key] = _apart(rule, trains, work, wrong[rule.key])
                except Exception as error:  # whatever it is holds this rule, and no other
                    refuse_dead(error)
                    failures[rule.key] = describe(error)
    return ConditionAnswer(found, failures, unasked)


def _apart(
    rule: LiveRule, trains: Sequence[Rows], work: Work, error: Exception
) -> tuple[pa.Table, list[TriedRows]]:
    """Return the tuples that fire a rule, and those that its condition fails on."""
    if not is_data_error(error):
        raise error
    schema = rule.bound.leaf.schema
    parts = separated(laid_together([rows.to_table(schema) for rows in trains]), work)
    fired = [part.made for part in parts if part.made is not None]
    return pa.concat_tables([empty_table(schema), *fired]), [p for p in parts if p.made is None]


def _piece(
    processor: Processor,
    view: str,
    rule: LiveRule,
    look: Callable[[str], list[Rows]],
    rows: pa.Table,
) -> pa.Table:
    """Return those of some tuples that fire a rule, which is asked by itself."""
    trains = [in_memory(rows)]
    if rule.bound.conditions is None:
        return _alone(processor, view, rule, trains, look)
    found = _together(processor, view, [rule], trains)
    return found.get(rule.key, rows.slice(0, 0))


def unasked(rules: Sequence[LiveRule], answer: ConditionAnswer, depth: int) -> list[Fired]:
    """Return the tuples that conditions fail on, as dead letters; RETRY asks about them again."""
    return [
        Fired(
            rule.key, CONDITION, part.rows, depth, 0, False, part.cause, rule.definition.limits.dead
        )
        for rule in rules
        for part in answer.unasked.get(rule.key, ())
    ]


def _here(rules: Sequence[LiveRule], trains: Sequence[Rows]) -> dict[str, pa.Table]:
    """Return the tuples for rules that need no job: all of them, or what spans let through."""
    plain = [rule for rule in rules if rule.bound.conditions == ()]
    compare = [(rule, spans) for rule in rules if (spans := _spans(rule.bound))]
    if not plain and not compare:
        return {}
    schema = (plain or [compare[0][0]])[0].bound.leaf.schema
    whole = laid_together([rows.to_table(schema) for rows in trains])
    picked = pick(whole, [spans for _, spans in compare])
    found = {rule.key: whole for rule in plain}
    for (rule, _), places in zip(compare, picked, strict=True):
        if len(places):
            found[rule.key] = whole.take(pa.array(places))
    return found


def _spans(bound: BoundRule) -> tuple[ColumnSpans, ...]:
    """Return what a condition compares with constants, where it does nothing else."""
    if not bound.conditions:
        return ()
    asked = _member(bound).asked
    return asked.spans or asked.within


def _for_spark(rules: Sequence[LiveRule]) -> list[LiveRule]:
    return [rule for rule in rules if rule.bound.conditions and not _spans(rule.bound)]


def _alike(
    processor: Processor,
    view: str,
    rules: Sequence[LiveRule],
    trains: Sequence[Rows],
    wrong: dict[str, Exception],
) -> dict[str, pa.Table]:
    """Ask rules together; where that fails, in halves, until those are known that fail alone."""
    if not rules:
        return {}
    try:
        return _together(processor, view, rules, trains)
    except Exception as error:
        refuse_dead(error)
        if len(rules) == 1:
            wrong[rules[0].key] = error
            return {}
    half = len(rules) // 2
    first = _alike(processor, view, rules[:half], trains, wrong)
    return first | _alike(processor, view, rules[half:], trains, wrong)


def _together(
    processor: Processor, view: str, rules: Sequence[LiveRule], trains: Sequence[Rows]
) -> dict[str, pa.Table]:
    members = [_member(rule.bound) for rule in rules]
    asked, index = [member.asked for member in members], predicate_index_of(members)
    schema = rules[0].bound.leaf.schema
    sql = f"SELECT * FROM {index.sql(view)} AS {INPUT}"
    tuples = processor.select({view: (trains, schema)}, sql, None, single=False, wide=True)
    whole = tuples.select(list(schema.names))
    found: dict[str, pa.Table] = {}
    for rule, each in zip(rules, asked, strict=True):
        places = np.flatnonzero(asked_for(tuples, index, each))
        if len(places):
            found[rule.key] = whole.take(pa.array(places))
    return found


def _member(bound: BoundRule) -> FlowMember:
    return FlowMember(bound.chosen, bound.leaf, bound.conditions or ())


def _alone(
    processor: Processor,
    view: str,
    rule: LiveRule,
    trains: Sequence[Rows],
    look: Callable[[str], list[Rows]],
) -> pa.Table:
    leaf = rule.bound.leaf
    sql = select_sql(rule.bound.chosen, {key(leaf): view})
    leaves = {each.view: (look(each.name), each.schema) for each in rule.bound.held}
    leaves |= {view: (list(trains), leaf.schema)}
    return processor.select(leaves, sql, leaf.schema, single=False)


def ask_again(
    processor: Processor,
    held: Callable[[str, ExitStack], list[Rows]],
    rule: LiveRule,
    rows: pa.Table,
) -> ConditionAnswer:
    """Return which of a rule's dead letters fire it now."""
    return ask(processor, f"again:{key(rule.bound.leaf)}", [rule], [in_memory(rows)], held)


def made(processor: Processor, rule: LiveRule, action: int, rows: pa.Table) -> pa.Table | None:
    """Return what a rule makes of tuples for one of its actions, or None where that is nothing."""
    make = rule.bound.makes[action]
    if make is None:
        return None
    if (picks := plain_picks(make)) is not None:
        return rows.select(list(picks)).rename_columns(list(make.schema.names))
    return _projected(processor, own(f"rule_{key(make)}_{action}"), make, rows)


def _projected(processor: Processor, view: str, make: Project, rows: pa.Table) -> pa.Table:
    schema: Schema = make.input.schema
    leaves = {view: ([in_memory(rows)], schema)}
    return processor.select(
        leaves, select_sql(make, {key(make.input): view}), make.schema, single=False
    )
