"""A home as settings say it is opened and run, be it for a server or for one command."""

from collections.abc import Mapping
from typing import Any

import penstock
from penstock.client import Connection
from penstock.engine.trains.buffers import BufferBounds
from penstock.errors import ConfigurationError, PenstockError
from penstock.qos.contracts.strategy_need import Need
from penstock.runtime.loop.control import BY_NEED
from penstock.runtime.loop.supervisor import Settings
from penstock.schedule import STRATEGIES, Choice
from penstock.schedule.batching import BATCHINGS
from penstock.schedule.choice import choice_of, make
from penstock.server.configuration import Configuration
from penstock.sql import SetDecider, parse


def open_home(configuration: Configuration) -> Connection:
    """Open the home as the settings say; nothing flows before `Connection.begin`."""
    return penstock.connect(
        configuration.home,
        master=configuration.master,
        begin=False,
        settings=settings_of(configuration),
        bounds=BufferBounds(
            configuration.buffers_each,
            configuration.buffers_total,
            queue_bytes=configuration.buffers_sink,
        ),
        commands=configuration.allow_commands,
        hosts=configuration.allow_hosts,
        formats=configuration.allow_formats,
        writable=configuration.allow_writable,
        readable=configuration.allow_readable,
        allow_functions=configuration.allow_functions,
        spark_settings=dict(configuration.spark),
        journal=configuration.journal,
    )


def settings_of(configuration: Configuration) -> Settings:
    """Return how the home is run."""
    return Settings(
        checkpoint_seconds=configuration.runtime_checkpoint,
        slots=configuration.runtime_slots,
        strategy=_choice("strategy", configuration.runtime_strategy, STRATEGIES | {BY_NEED: Need}),
        batching=_choice("batching", configuration.runtime_batching, BATCHINGS),
        statement_seconds=configuration.limits_statement_timeout,
        run_seconds=configuration.limits_run_timeout,
        key_seconds=configuration.limits_keys,
    )


def _choice(what: str, text: str, kinds: Mapping[str, type[Any]]) -> Choice:
    """Return a strategy or batching rule as SET takes it, which is one of these kinds."""
    try:
        match parse(f"SET {what.upper()} {text}"):
            case [SetDecider(name=name, options=options)]:
                choice = choice_of(name, options)
                make(kinds, what, choice)
                return choice
            case _:
                raise ConfigurationError(f"runtime.{what} is {text}, which SET does not take")
    except PenstockError as error:
        raise ConfigurationError(
            f"runtime.{what} is {text}: {error.message}", hint=error.hint
        ) from None
