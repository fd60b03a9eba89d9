import pytest

from penstock.cli.shell.completion import candidates

NAMES = {"traffic": ("ts", "car_id", "mph"), "left_turns": ("car_id", "at"), "roads": ("id",)}
COMMANDS = (".help", ".quit", ".watch")


def words(before: str) -> list[str]:
    return [word for word, _ in candidates(before, NAMES, COMMANDS)]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("SEL", ["SELECT"]),
        ("sel", ["select"]),
        ("SELECT car", ["car_id"]),
        ("SELECT mp", ["mph"]),
        ("SELECT count(*) FROM tr", ["traffic"]),
        ("SELECT 1 FROM ", ["traffic", "left_turns", "roads"]),
        ("STOP QUERY le", ["left_turns"]),
        ("SELECT traffic.c", ["car_id"]),
        ("SELECT TRAFFIC.", ["ts", "car_id", "mph"]),
        ("SELECT 1 FROM traffic [RANGE 2 MINUTES] AS t WHERE t.m", ["mph"]),
        ("SELECT 1 FROM roads r WHERE r.", ["id"]),
        ("SELECT 1 FROM roads r WHERE nobody.", []),
        (".w", [".watch"]),
        (".watch l", ["left_turns"]),
        ("", []),
        ("SELECT ", []),
    ],
)
def test_a_word_is_completed_by_where_it_stands(before: str, expected: list[str]) -> None:
    assert words(before) == expected


def test_what_is_typed_of_a_word_is_replaced() -> None:
    assert candidates("SELECT 1 FROM TRA", NAMES, COMMANDS) == [("traffic", "TRA")]
    assert candidates("SELECT traffic.Ca", NAMES, COMMANDS) == [("car_id", "Ca")]
