"""The options of commands that open a home: those settings that have one."""

import argparse
import os
from collections.abc import Iterable
from typing import Any

from penstock.server.configuration import SETTINGS, Configuration, Setting, resolved

METAVARS = {"home": "DIR", "master": "URL", "spark": "NAME=VALUE", "journal": "URL"}


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add --config, and an option for each setting that has one."""
    _add(parser, SETTINGS)


def add_home_settings(parser: argparse.ArgumentParser, *, home: bool = True) -> None:
    """Add --config and the options of settings that need no server; `home` is one of them."""
    settings = (each for each in SETTINGS if not each.is_of_servers)
    _add(parser, [each for each in settings if home or each.place != "home"])


def given(args: argparse.Namespace) -> dict[str, Any]:
    """Return the settings that the command line gives, by their places."""
    named = {each.place: getattr(args, _name(each.place), None) for each in SETTINGS if each.flag}
    return {place: value for place, value in named.items() if value not in (None, [])}


def configured(args: argparse.Namespace) -> Configuration:
    """Return what is in force for a command, with what comes from a file and the environment."""
    return resolved(given(args), os.environ, args.config)


def _add(parser: argparse.ArgumentParser, settings: Iterable[Setting]) -> None:
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="the file of settings (default: PENSTOCK_CONFIG, or penstock.toml where there is one)",
    )
    for setting in settings:
        if setting.flag:
            several = setting.default == ()
            parser.add_argument(
                setting.flag,
                dest=_name(setting.place),
                metavar=METAVARS.get(setting.place, "VALUE"),
                action="append" if several else "store",
                help=f"{setting.about} ({setting.place})",
            )


def _name(place: str) -> str:
    """Return an argument's name; the home has the one that every command gives it."""
    return place if place == "home" else f"setting.{place}"
