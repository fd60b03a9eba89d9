import pytest

from penstock.errors import PenstockError, WireError
from penstock.server.pg.settings import SessionSettings, seconds_of
from penstock.server.pg.sqlstate import STATES, refused, state_of


def kinds(of: type[PenstockError] = PenstockError) -> set[type[PenstockError]]:
    return {of}.union(*(kinds(each) for each in of.__subclasses__()))


def test_every_error_has_a_code_of_postgresqls() -> None:
    codes = {kind.code for kind in kinds() if kind.__module__ == "penstock.errors"}
    assert codes - set(STATES) == set()
    assert all(len(state) == 5 for state in STATES.values())


def test_an_error_of_the_protocol_has_its_own_code() -> None:
    assert state_of(refused("25P02", "no")) == "25P02"
    assert state_of(WireError("no")) == "08P01"


@pytest.mark.parametrize(
    ("written", "seconds"), [("0", 0), ("1500", 1.5), ("2s", 2), ("1 min", 60), ("250ms", 0.25)]
)
def test_a_length_of_time_is_in_milliseconds_or_in_its_unit(written: str, seconds: float) -> None:
    assert seconds_of(written) == pytest.approx(seconds)


def test_settings_are_kept_and_taken_back() -> None:
    settings = SessionSettings("me")
    assert settings.timeout is None
    assert settings.set("Statement_Timeout", "2s") is None
    assert settings.timeout == 2
    settings.set("statement_timeout", None)
    assert settings.timeout is None
    assert settings.told["session_authorization"] == "me"


def test_what_rows_are_written_in_is_never_changed_in_silence() -> None:
    settings = SessionSettings("me")
    assert settings.set("timezone", "Europe/Berlin")
    assert settings.set("timezone", "UTC") is None
    assert settings.get("timezone") == "UTC"


@pytest.mark.parametrize(
    ("name", "value", "state"),
    [
        ("server_version", "99", "55P02"),
        ("client_encoding", "LATIN1", "22023"),
        ("standard_conforming_strings", "off", "22023"),
        ("statement_timeout", "soon", "22023"),
        ("statement_timeout", "-5", "22023"),
    ],
)
def test_what_cannot_be_is_refused(name: str, value: str, state: str) -> None:
    with pytest.raises(WireError) as caught:
        SessionSettings("me").set(name, value)
    assert caught.value.state == state
