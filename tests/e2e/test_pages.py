"""The tutorial and the how-to guides say what happens: everything on them is run."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection, connect
from tests.e2e.pages import ELSEWHERE, Reader, blocks, is_like

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "docs/tutorial.md", *sorted((ROOT / "docs/howto").glob("*.md"))]


@pytest.fixture
def reader(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """Give a reader in a checkout of its own, on the Spark of all tests."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)

    def connected(home: str = ".penstock", **options: Any) -> Connection:
        return connect(home, **(options | {"spark": spark, "master": "local[*]"}))

    monkeypatch.setattr(penstock, "connect", connected, raising=False)
    monkeypatch.setattr("penstock.cli.stop_signals.StopSignals.listen", lambda _: None)
    return Reader(monkeypatch)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_does_what_it_says(page: Path, reader: Reader) -> None:
    reader.follow(page)


def test_the_python_of_the_readme_runs(reader: Reader) -> None:
    reader.follow(ROOT / "README.md", "python")


def test_only_pages_about_other_machines_and_servers_show_what_nobody_runs() -> None:
    assert {page.stem for page in PAGES for each in blocks(page) if each.kind in ELSEWHERE} == {
        "cluster",
        "deploy",
        "kafka",
        "monitor",
        "page",
        "postgres",
        "psql",
        "serve",
    }


def test_a_page_that_shows_something_else_is_found_out() -> None:
    assert is_like("a 1\nb  \nc\n", "a …\nb\nc\n")
    assert not is_like("a 1\nb\n", "a 2\nb\n")
    assert not is_like("a\nb\nc\n", "a\nb\n")
