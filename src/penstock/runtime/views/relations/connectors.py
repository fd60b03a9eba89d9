"""`system.connectors`: what streams can read from and queries write to, and with which options."""

from collections.abc import Iterator, Mapping

from penstock.engine.connectors import CONNECTORS as KINDS
from penstock.engine.connectors.connector import ConnectorKind
from penstock.engine.connectors.sources import SHARED
from penstock.engine.options import Declared
from penstock.runtime.views.view import Row, View, columns


def connector_rows() -> Iterator[Row]:
    """Yield a row for every connector."""
    for kind in KINDS.values():
        yield {
            "connector": kind.name,
            "source": kind.source is not None,
            "tables": kind.table_options is not None,
            "sink": kind.sink is not None,
            "installed": not kind.missing,
            "needs": kind.remedy,
            "about": kind.about,
        }


def option_rows() -> Iterator[Row]:
    """Yield a row for every option of every connector."""
    for kind in KINDS.values():
        for side, options in _sides(kind):
            for name, declared in options.items():
                yield {
                    "connector": kind.name,
                    "side": side,
                    "option": name,
                    "type": declared.kind.words,
                    "default": declared.shown_default(),
                    "about": declared.about,
                }


def _sides(kind: ConnectorKind) -> Iterator[tuple[str, Mapping[str, Declared]]]:
    if kind.source is not None:
        yield "source", {**kind.source_options, **SHARED}
    if kind.table_options is not None:
        yield "table", kind.table_options
    if kind.sink is not None:
        yield "sink", kind.sink_options


CONNECTORS = View(
    "connectors",
    "what streams and tables can read from and queries write to, and what it needs",
    columns(
        "connector STRING, source BOOLEAN, tables BOOLEAN, sink BOOLEAN, installed BOOLEAN, "
        "needs STRING, about STRING"
    ),
    lambda _: connector_rows(),
)
CONNECTOR_OPTIONS = View(
    "connector_options",
    "the options of every connector",
    columns(
        "connector STRING, side STRING, option STRING, type STRING, default STRING, about STRING"
    ),
    lambda _: option_rows(),
)
