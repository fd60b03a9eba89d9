import argparse

import pytest

from penstock.cli.durations import seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30s", 30),
        ("30", 30),
        ("500ms", 0.5),
        ("1m30s", 90),
        ("2h", 7200),
        ("1d", 86400),
        ("0.5s", 0.5),
        (" 5M ", 300),
    ],
)
def test_a_length_of_time_is_read_in_seconds(text: str, expected: float) -> None:
    assert seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize(
    "text", ["", "s", "3x", "-3s", "0", "0s", "3 s x", "1e9s", "nan", "inf", "3s4", "9" * 99]
)
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="30s"):
        seconds(text)
