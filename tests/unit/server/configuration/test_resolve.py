import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import ConfigurationError
from penstock.server.configuration import SETTINGS, Configuration, resolved, unknown_variables
from penstock.server.configuration.configuration import is_loopback
from penstock.server.configuration.kinds import (
    BYTE_SIZE,
    FLAG,
    LENGTH_OF_TIME,
    PAIRS,
    TEXT,
    TEXTS,
    Kind,
    or_none,
    whole,
)

HASH = "ab" * 32


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # where no penstock.toml is


def written(text: str) -> str:
    Path("some.toml").write_text(text)
    return "some.toml"


def test_every_setting_has_a_field_and_every_field_a_setting() -> None:
    names = {field.name for field in fields(Configuration)} - {"tokens", "origins"}
    assert names == {setting.field for setting in SETTINGS}


def test_without_anything_every_setting_has_its_default() -> None:
    made = resolved({}, {})
    assert all(getattr(made, setting.field) == setting.default for setting in SETTINGS)
    assert {origin for _, _, origin in made.shown()} == {"default"}


def test_the_command_line_goes_before_the_environment_and_that_before_the_file() -> None:
    file = written("[http]\nport = 1\nhost = '::1'\n[limits]\nbody = '1MiB'")
    variables = {"PENSTOCK_HTTP_PORT": "2", "PENSTOCK_HTTP_HOST": "localhost"}
    made = resolved({"http.port": "3"}, variables, file)
    assert (made.http_port, made.http_host, made.limits_body) == (3, "localhost", 1 << 20)
    origins = {setting.place: origin for setting, _, origin in made.shown()}
    assert origins["http.port"] == "--port"
    assert origins["http.host"] == "PENSTOCK_HTTP_HOST"
    assert origins["limits.body"] == "some.toml"
    assert origins["master"] == "default"


def test_a_variable_that_is_no_setting_is_told() -> None:
    assert unknown_variables({"PENSTOCK_HTP_PORT": "1", "PENSTOCK_QQQQQQQQQ": "", "PATH": ""}) == (
        "PENSTOCK_HTP_PORT is no setting: did you mean PENSTOCK_HTTP_PORT?",
        "PENSTOCK_QQQQQQQQQ is no setting: penstock config shows those there are",
    )


def test_variables_of_settings_and_of_others_are_not_told() -> None:
    others = (
        "PENSTOCK_CONFIG",
        "PENSTOCK_TOKEN",
        "PENSTOCK_SECRETS",
        "PENSTOCK_SERVICE_HOST",
        "PENSTOCK_PORT_80_TCP",
    )
    assert unknown_variables(dict.fromkeys([*(each.variable for each in SETTINGS), *others])) == ()


def test_a_file_is_found_by_its_name_or_by_the_environment() -> None:
    Path("penstock.toml").write_text("home = 'here'")
    assert resolved({}, {}).home == "here"
    other = written("home = 'there'")
    assert resolved({}, {"PENSTOCK_CONFIG": other}).home == "there"
    assert resolved({}, {}, other).home == "there"


def test_settings_of_spark_keep_their_dots() -> None:
    file = written("[spark]\nspark.driver.memory = '4g'\n'spark.ui.enabled' = true")
    assert resolved({}, {}, file).spark == (
        ("spark.driver.memory", "4g"),
        ("spark.ui.enabled", "true"),
    )
    variables = {"PENSTOCK_SPARK": "spark.driver.memory=4g, spark.a=b=c"}
    assert resolved({}, variables).spark == (("spark.a", "b=c"), ("spark.driver.memory", "4g"))


def test_settings_of_spark_are_merged_name_by_name() -> None:
    file = written("[spark]\nspark.a = 'file'\nspark.b = 'file'\nspark.c = 'file'")
    variables = {"PENSTOCK_SPARK": "spark.b=variable,spark.c=variable"}
    made = resolved({"spark": ["spark.c=flag,with=commas"]}, variables, file)
    assert dict(made.spark) == {
        "spark.a": "file",
        "spark.b": "variable",
        "spark.c": "flag,with=commas",
    }
    assert made.origins["spark"] == "--conf"


@pytest.mark.parametrize("given", ["spark.a", "=x", ""])
def test_a_setting_of_spark_has_a_name_and_a_value(given: str) -> None:
    with pytest.raises(ConfigurationError):
        resolved({"spark": [given]}, {})


@pytest.mark.parametrize(
    "text",
    [
        "nothing = 1",
        "[http]\nprot = 1",
        "[htpp]\nport = 1",
        "http = 1",
        "[http]\nport = 70000",
        "[http]\nport = 1.5",
        "[http]\nport = true",
        "[http]\nport = 'x'",
        "[http]\nhosts = [1]",
        "[limits]\nbody = 0",
        "[limits]\nbody = true",
        "[limits]\nstop = '0s'",
        "[limits]\nstop = '-1s'",
        "[log]\nlevel = 'loud'",
        "[tls]\nkey = 'x'",
        "[tls]\ncertificate = 'x'",
        "home = 7",
        "spark = [1]",
        "tokens = 1",
        "[tokens.ada]\nrole = 'read'",
        "= = =",
    ],
)
def test_what_does_not_fit_is_told(text: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        resolved({}, {}, written(text))
    assert raised.value.code == "BAD_CONFIGURATION"


def test_a_file_that_is_named_has_to_be_there() -> None:
    with pytest.raises(ConfigurationError):
        resolved({}, {}, "nowhere.toml")


def test_a_file_may_name_tokens_by_their_hashes() -> None:
    file = written(f"[tokens.ada]\nsha256 = '{HASH}'\nrole = 'write'\nstreams = ['Trades']")
    [token] = resolved({}, {}, file).tokens
    assert (token.name, token.sha256, token.caller.streams) == ("ada", HASH, {"trades"})


KINDS: Mapping[str, tuple[Kind, st.SearchStrategy[Any]]] = {
    "text": (TEXT, st.text(st.characters(exclude_categories=["Cs"]))),
    "texts": (TEXTS, st.lists(st.text(st.characters(exclude_categories=["Cs"]))).map(tuple)),
    "pairs": (
        PAIRS,
        st.dictionaries(st.text("ab.", min_size=1), st.text("xy\"'\\\n")).map(
            lambda held: tuple(sorted(held.items()))
        ),
    ),
    "flag": (FLAG, st.booleans()),
    "length": (LENGTH_OF_TIME, st.integers(1, 10**6).map(float)),
    "bytes": (BYTE_SIZE, st.integers(1, 10**12)),
    "whole": (or_none(whole(0, 9)), st.none() | st.integers(0, 9)),
}


@pytest.mark.parametrize("name", KINDS)
@given(data=st.data())
def test_what_is_shown_is_read_again_as_it_was(name: str, data: st.DataObject) -> None:
    kind, values = KINDS[name]
    value = data.draw(values)
    assert kind.read(tomllib.loads(f"x = {kind.write(value)}")["x"]) == value


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("[::1]", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("localhost.example", False),
        ("", False),
    ],
)
def test_a_loopback_address_is_known_for_one(host: str, alone: bool) -> None:
    assert is_loopback(host) is alone
