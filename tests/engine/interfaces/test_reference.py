"""docs/reference/interfaces.md says what the code does."""

import re
from pathlib import Path

import pytest

from penstock.engine.connectors.sources import SOURCES, check
from penstock.engine.interfaces import files, generator, replay, spark
from penstock.engine.interfaces.lake import delta
from penstock.engine.interfaces.pushed import push
from penstock.engine.interfaces.received import http, mqtt, postgres, sse
from penstock.sql import CreateStream, parse

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "interfaces.md").read_text()
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
DECLARED = {
    "delta": delta.OPTIONS,
    "files": files.OPTIONS,
    "generator": generator.OPTIONS,
    "http": http.OPTIONS,
    "mqtt": mqtt.OPTIONS,
    "postgres": postgres.OPTIONS,
    "push": push.OPTIONS,
    "replay": replay.OPTIONS,
    "spark": spark.OPTIONS,
    "sse": sse.OPTIONS,
}


def test_every_interface_has_its_section() -> None:
    assert set(SECTIONS) == set(SOURCES)


@pytest.mark.parametrize("name", DECLARED)
def test_the_table_names_every_option(name: str) -> None:
    cells = re.findall(r"^\| (`[^|]+) \|", SECTIONS[name], re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(cells))) == sorted(DECLARED[name])


@pytest.mark.parametrize("sql", re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL))
def test_an_example_is_a_stream_that_could_be_made(sql: str) -> None:
    (statement,) = parse(sql)
    assert isinstance(statement, CreateStream)
    check(statement.definition)
