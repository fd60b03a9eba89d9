from pathlib import Path

import pytest

from penstock.engine.options import Declared, maybe_secret, read_options, secret, shown
from penstock.engine.secrets import Secrets
from penstock.errors import BadOptionError, UnknownSecretError
from penstock.model.definitions import Connector, Secret


def test_a_text_is_itself() -> None:
    assert Secrets({}).reveal("plain") == "plain"


def test_a_secret_comes_from_its_variable_alone() -> None:
    environment = {"PENSTOCK_SECRET_PW": "hunter2", "HOME": "/root"}
    assert Secrets(environment).reveal(Secret("PW")) == "hunter2"
    with pytest.raises(UnknownSecretError) as raised:
        Secrets(environment).reveal(Secret("HOME"))
    assert raised.value.code == "UNKNOWN_SECRET"
    assert "PENSTOCK_SECRET_HOME" in raised.value.hint


def test_a_secret_comes_from_a_file_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "PW").write_text("hunter2\n")
    assert Secrets({"PENSTOCK_SECRETS": str(tmp_path)}).reveal(Secret("PW")) == "hunter2"


def test_a_secret_comes_from_a_line_of_a_file(tmp_path: Path) -> None:
    place = tmp_path / "secrets"
    place.write_text("# of the broker\nPW = a=b c\nOTHER=x\n")
    secrets = Secrets({"PENSTOCK_SECRETS": str(place)})
    assert secrets.reveal(Secret("PW")) == "a=b c"
    with pytest.raises(UnknownSecretError):
        secrets.reveal(Secret("MISSING"))


def test_a_place_that_is_not_there_or_cannot_be_read_is_no_secret(tmp_path: Path) -> None:
    (tmp_path / "PW").mkdir()
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(UnknownSecretError):
            Secrets({"PENSTOCK_SECRETS": str(place)}).reveal(Secret("PW"))


def test_the_variable_goes_before_the_place(tmp_path: Path) -> None:
    (tmp_path / "PW").write_text("from the file")
    environment = {"PENSTOCK_SECRETS": str(tmp_path), "PENSTOCK_SECRET_PW": "from the variable"}
    assert Secrets(environment).reveal(Secret("PW")) == "from the variable"


def test_messages_name_a_secret_and_do_not_show_it() -> None:
    secrets = Secrets({"PENSTOCK_SECRET_A": "abc", "PENSTOCK_SECRET_B": "abcdef"})
    secrets.reveal(Secret("A"))
    secrets.reveal(Secret("B"))
    told = secrets.scrubbed("refused user abcdef, password abc")
    assert told == "refused user secret('B'), password secret('A')"
    assert "abc" not in repr(secrets)


def test_an_option_that_must_be_a_secret_refuses_text_and_does_not_repeat_it() -> None:
    with pytest.raises(BadOptionError) as raised:
        read_options(Connector("x", (("password", "hunter2"),)), {"password": Declared(secret)})
    assert "hunter2" not in str(raised.value)
    assert "secret('NAME')" in raised.value.message


def test_other_options_refuse_secrets() -> None:
    declared = {"user": Declared(maybe_secret)}
    taken = read_options(Connector("x", (("user", Secret("U")),)), declared)
    assert taken == {"user": Secret("U")}
    assert shown(Secret("U")) == "secret('U')"
