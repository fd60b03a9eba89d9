"""The options of `penstock serve` and `penstock config`: those settings that have one."""

import argparse
from typing import Any

from penstock.server.configuration import SETTINGS


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add --config, and an option for each setting that has one."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="the file of settings (default: PENSTOCK_CONFIG, or penstock.toml where there is one)",
    )
    for setting in SETTINGS:
        if setting.flag:
            several = setting.default == ()
            parser.add_argument(
                setting.flag,
                dest=_name(setting.place),
                metavar="VALUE",
                action="append" if several else "store",
                help=f"{setting.about} ({setting.place})",
            )


def given(args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that the command line gives, by their places."""
    return {each.place: getattr(args, _name(each.place)) for each in SETTINGS if each.flag}


def _name(place: str) -> str:
    """Return an argument's name; the home has the one that every command gives it."""
    return place if place == "home" else f"setting.{place}"
