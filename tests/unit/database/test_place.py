import pytest

from penstock.database.place import journal_place, without_password
from penstock.errors import BadOptionError

SECRET = "s3cret"


def test_a_place_has_a_url_for_the_client_a_schema_and_words_for_people() -> None:
    place = journal_place(f"postgresql://me:{SECRET}@db:5433/main?schema=mine&sslmode=require")
    assert place.url == f"postgresql://me:{SECRET}@db:5433/main?sslmode=require"
    assert place.schema == "mine"
    assert str(place) == "PostgreSQL at db:5433/main, schema mine"
    assert SECRET not in f"{place!r}{place}"


def test_the_schema_has_a_default() -> None:
    place = journal_place("postgresql:///main?host=/run/postgresql")
    assert place.schema == "penstock"
    assert place.url == "postgresql:///main?host=%2Frun%2Fpostgresql"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "sqlite:///x",
        "mysql://db/x",
        f"http://me:{SECRET}@db/x",
        f"postgresql://me:{SECRET}@db:port/x",
        f"postgresql://me:{SECRET}@db/x?schema=A B",
        f"postgresql://me:{SECRET}@db/x?schema=a;drop",
        f"postgresql://me:{SECRET}@db/x?schema",
        f"postgresql://me:{SECRET}@[db/x",
    ],
)
def test_what_is_no_place_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(BadOptionError) as told:
        journal_place(url)
    assert SECRET not in str(told.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"postgresql://me:{SECRET}@db/x", "postgresql://me:…@db/x"),
        (f"postgresql://:{SECRET}@db/x", "postgresql://:…@db/x"),
        (f"postgresql://me:a@{SECRET}@db/x", "postgresql://me:…@db/x"),
        (f"postgresql://db/x?password={SECRET}&schema=y", "postgresql://db/x?password=…&schema=y"),
        ("postgresql://me@db:5/x", "postgresql://me@db:5/x"),
        ("postgresql:///x", "postgresql:///x"),
    ],
)
def test_a_url_is_shown_without_its_password(url: str, shown: str) -> None:
    assert without_password(url) == shown
