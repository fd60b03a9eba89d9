import socket

import pytest

from penstock.engine.spark.application.master import refuse_unreachable
from penstock.engine.spark.application.session import open_sessions
from penstock.errors import BadOptionError, SparkMissingError


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


@pytest.mark.parametrize("master", ["spark://127.0.0.1:{}", "spark://127.0.0.1:{0},127.0.0.1:{0}"])
def test_a_master_that_does_not_answer_is_told_before_spark_starts(master: str) -> None:
    with pytest.raises(SparkMissingError) as told:
        open_sessions(master.format(free_port()))
    assert told.value.code == "NO_SPARK"


def test_one_of_several_addresses_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        refuse_unreachable(f"spark://127.0.0.1:{free_port()},127.0.0.1:{port}")


@pytest.mark.parametrize("master", ["spark://", "spark://x:y", "spark://127.0.0.1:99999999999999"])
def test_an_address_that_is_none_is_told_as_well(master: str) -> None:
    with pytest.raises(SparkMissingError):
        refuse_unreachable(master)


@pytest.mark.parametrize("master", ["local[2]", "yarn", "k8s://https://host:6443"])
def test_only_standalone_masters_are_asked(master: str) -> None:
    refuse_unreachable(master)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("executor.memory", "1g"),
        ("spark.master", "yarn"),
        ("spark.sql.session.timeZone", "Europe/Berlin"),
    ],
)
def test_settings_that_spark_cannot_have_are_refused(name: str, value: str) -> None:
    with pytest.raises(BadOptionError):
        open_sessions(settings={name: value})
