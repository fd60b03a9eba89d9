"""Systems that end-to-end tests open."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import penstock
from penstock.client import Connection


@pytest.fixture(autouse=True, scope="module")
def _where_sinks_may_write(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Work where all temporary directories are: statements write below the working directory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.getbasetemp())
        yield


@pytest.fixture
def opener(spark: SparkSession, tmp_path: Path) -> Callable[[], Connection]:
    """Open the system of a test, again and again."""
    return lambda: penstock.connect(tmp_path / "home", spark=spark)


@pytest.fixture
def ps(opener: Callable[[], Connection]) -> Iterator[Connection]:
    """Give a test a system of its own."""
    with opener() as connection:
        yield connection
