"""Connectors as they are declared."""

import pytest

from penstock.engine.connectors import CONNECTORS
from penstock.engine.connectors.connector import ConnectorKind
from penstock.errors import NotInstalledError
from penstock.runtime.views.relations.connectors import connector_rows, option_rows


def test_every_connector_is_a_source_or_a_sink_and_says_what_it_is() -> None:
    for kind in CONNECTORS.values():
        assert kind.source is not None or kind.sink is not None
        assert bool(kind.source_options) <= (kind.source is not None)
        assert bool(kind.sink_options) <= (kind.sink is not None)
        assert kind.about
        assert bool(kind.modules) == bool(kind.extra)


def test_every_option_says_what_it_is_about_and_what_it_takes() -> None:
    for row in option_rows():
        assert row["about"], row
        assert row["type"], row


def test_every_connector_is_shown_with_what_it_needs() -> None:
    rows = {row["connector"]: row for row in connector_rows()}
    assert rows.keys() == CONNECTORS.keys()
    assert rows["files"] == {
        "connector": "files",
        "source": True,
        "sink": True,
        "tables": True,
        "installed": True,
        "needs": "",
        "about": "JSON, CSV, text or Parquet files of a directory",
    }


@pytest.mark.parametrize("module", ["no_such_module", "no_such_package.inside"])
def test_a_connector_whose_package_is_missing_says_what_to_install(module: str) -> None:
    kind = ConnectorKind("tide", "levels", extra="tide", modules=("json", module))
    with pytest.raises(NotInstalledError) as raised:
        kind.require_installed()
    assert raised.value.code == "NOT_INSTALLED"
    assert module in raised.value.message
    assert raised.value.hint == "pip install 'penstock[tide]'"


def test_a_connector_whose_packages_are_there_is_content() -> None:
    ConnectorKind("tide", "levels", extra="tide", modules=("json",)).require_installed()
