"""SET STRATEGY, SET BATCHING and SET of time-outs."""

from penstock.errors import BadOptionError, UnknownOptionError
from penstock.runtime.system.system import System
from penstock.schedule.choice import choice_of
from penstock.sql import SetDecider, SetTimeout


def set_decider(system: System, statement: SetDecider) -> str:
    """Let another strategy or batching rule decide; while quiesced."""
    try:
        choice = choice_of(statement.name, statement.options)
        if statement.what == "STRATEGY":
            system.cutter.use_strategy(choice)
        else:
            system.control.use_batching(choice)
    except (BadOptionError, UnknownOptionError) as error:
        error.place = error.place or statement.place
        raise
    return f"{statement.what.lower()} {choice.text()} decides"


def set_timeout(system: System, statement: SetTimeout) -> str:
    """Let statements or runs take so long from now on, until the home is closed."""
    seconds = None if statement.length is None else statement.length.total_seconds()
    if statement.what == "STATEMENT_TIMEOUT":
        system.statement_seconds = seconds
    else:
        system.processor.run_seconds = seconds
    return f"{statement.what.lower()} is {'none' if seconds is None else f'{seconds:g} s'}"
