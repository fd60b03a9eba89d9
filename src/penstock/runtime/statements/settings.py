"""SET STRATEGY, SET BATCHING, SET of time-outs and of memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from penstock.engine.spark.application.session import Sessions
from penstock.engine.spark.jobs.processor import Processor
from penstock.errors import BadOptionError, TimedOutError, UnknownOptionError
from penstock.runtime.loop.graph_cutter import GraphCutter
from penstock.schedule.choice import choice_of
from penstock.sql import SetDecider, SetJoinMemory, SetTimeout

T = TypeVar("T")


@dataclass(slots=True)
class StatementLimit:
    """How long a part of a one-time SELECT may take; None is no limit."""

    processor: Processor
    sessions: Sessions
    seconds: float | None

    def within(self, work: Callable[[], T]) -> T:
        """Return what a part of a one-time SELECT gives, or raise TimedOutError."""
        context = self.sessions.large.sparkContext
        try:
            return self.processor.limits.within(self.seconds, context, work)
        except TimedOutError as error:
            error.message += " (statement_timeout)"
            error.hint = "ask for less; SET statement_timeout = '1 hour' allows more"
            raise


def set_decider(cutter: GraphCutter, statement: SetDecider) -> str:
    """Switch to another strategy or batching rule; while quiesced."""
    try:
        choice = choice_of(statement.name, statement.options)
        if statement.what == "STRATEGY":
            cutter.use_strategy(choice)
        else:
            cutter.control.use_batching(choice)
    except (BadOptionError, UnknownOptionError) as error:
        error.place = error.place or statement.place
        raise
    return f"{statement.what.lower()} {choice.text()} decides"


def set_timeout(limit: StatementLimit, statement: SetTimeout) -> str:
    """Set the time limit of statements or runs, until the home is closed."""
    seconds = None if statement.length is None else statement.length.total_seconds()
    if statement.what == "STATEMENT_TIMEOUT":
        limit.seconds = seconds
    else:
        limit.processor.run_seconds = seconds
    return f"{statement.what.lower()} is {'none' if seconds is None else f'{seconds:g} s'}"


def set_join_memory(processor: Processor, statement: SetJoinMemory) -> str:
    """Set what all joins without windows may take, until the home is closed."""
    processor.joins.most = statement.size
    return f"join_memory is {'none' if statement.size is None else f'{statement.size:,} B'}"
