"""Lengths of time on a command line: 30s, 500ms, 1m30s; a bare number is seconds."""

import argparse
import re

SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
PART = r"(\d{1,9}(?:\.\d{1,9})?)(ms|s|m|h|d)"
BARE = re.compile(r"\d{1,9}(?:\.\d{1,9})?")
WHOLE = re.compile(f"(?:{PART})+")


def seconds(text: str) -> float:
    """Return a length of time above zero, in seconds; argparse tells what is wrong with it."""
    plain = text.strip().lower()
    if BARE.fullmatch(plain):
        plain += "s"
    total = (
        sum(float(number) * SECONDS[unit] for number, unit in re.findall(PART, plain))
        if WHOLE.fullmatch(plain)
        else 0.0
    )
    if total <= 0:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no length of time above zero, such as 30s, 500ms or 1m30s"
        )
    return total
