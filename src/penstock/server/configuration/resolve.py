"""Settings from the command line, the environment, a file and the defaults, in that order."""

import tomllib
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

from penstock.engine.options import near_miss
from penstock.errors import ConfigurationError, quoted_value
from penstock.server.access.tokens import Token, token_from
from penstock.server.configuration.configuration import Configuration
from penstock.server.configuration.kinds import PAIRS
from penstock.server.configuration.settings import BY_PLACE, SETTINGS, Setting

DEFAULT_FILE = "penstock.toml"
TOKENS = "tokens"
FILE_VARIABLE = "PENSTOCK_CONFIG"
PREFIX = "PENSTOCK_"
# Of the same beginning, but no settings: the token of clients, secrets, and what Kubernetes tells
# every container of a service that is called penstock.
OTHERS = (
    "PENSTOCK_CONFIG",
    "PENSTOCK_TOKEN",
    "PENSTOCK_SECRET",
    "PENSTOCK_SERVICE_",
    "PENSTOCK_PORT",
)
VARIABLES = frozenset(each.variable for each in SETTINGS)
SECTIONS = {place.partition(".")[0] for place in BY_PLACE if "." in place}


def resolved(
    flags: Mapping[str, Any], environment: Mapping[str, str], file: str | None = None
) -> Configuration:
    """Return what is in force.

    Args:
        flags: what the command line gave, by the settings' places; None is not given.
        environment: the process's variables; `PENSTOCK_HTTP_PORT` is `http.port`.
        file: the file, where one is named; else PENSTOCK_CONFIG, or `penstock.toml` where it is.

    Raises:
        ConfigurationError: a setting that there is not, or a value that does not fit.
    """
    path = _file(environment, file)
    written = _read(path) if path is not None else {}
    tokens = _tokens(written.pop(TOKENS, {}), str(path))
    in_file = dict(_places(written, str(path)))
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for setting in SETTINGS:
        given = _given(setting, flags, environment, in_file, str(path))
        values[setting.field] = _merged(setting, given)
        if given:
            origins[setting.place] = given[0][1]
    made = Configuration(**values, tokens=tokens, origins=MappingProxyType(origins))
    _require_together(made)
    return made


def unknown_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return a line for each variable that looks like a setting and is none.

    They are told and not refused: what runs a container may set some of this beginning.
    """
    strange = sorted(
        name
        for name in environment
        if name.startswith(PREFIX) and name not in VARIABLES and not name.startswith(OTHERS)
    )
    return tuple(f"{each} is no setting: {_meant(each)}" for each in strange)


def _meant(name: str) -> str:
    close = get_close_matches(name, VARIABLES, n=1)
    return f"did you mean {close[0]}?" if close else "penstock config shows those there are"


def _given(
    setting: Setting,
    flags: Mapping[str, Any],
    environment: Mapping[str, str],
    in_file: Mapping[str, Any],
    path: str,
) -> list[tuple[Any, str]]:
    """Return what was given for a setting, and by what; what goes before the others first."""
    found = []
    if flags.get(setting.place) not in (None, []):
        found.append((flags[setting.place], setting.flag))
    if setting.variable in environment:
        found.append((environment[setting.variable], setting.variable))
    if setting.place in in_file:
        found.append((in_file[setting.place], path))
    return found


def _merged(setting: Setting, given: list[tuple[Any, str]]) -> Any:
    """Return the value in force: the first, but of tables each name by itself."""
    if not given:
        return setting.default
    if setting.kind is not PAIRS:
        return _value(setting, *given[0])
    tables = [dict(_value(setting, *each)) for each in reversed(given)]
    return tuple(sorted({name: value for table in tables for name, value in table.items()}.items()))


def _value(setting: Setting, given: Any, origin: str) -> Any:
    try:
        return setting.kind.read(given)
    except (ValueError, TypeError):
        raise ConfigurationError(
            f"{setting.place} is {quoted_value(given)}, given by {origin}",
            hint=f"it is {setting.kind.words}: {setting.about}",
        ) from None


def _file(environment: Mapping[str, str], named: str | None) -> Path | None:
    chosen = named or environment.get(FILE_VARIABLE)
    if chosen:
        return Path(chosen).expanduser()
    return Path(DEFAULT_FILE) if Path(DEFAULT_FILE).is_file() else None


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be read: {error.strerror}", hint="name another by --config"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigurationError(f"{path} is no TOML: {error}") from None


def _places(table: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    """Yield the settings of a file; whatever else is in it is refused."""
    for name, value in table.items():
        if name in BY_PLACE:
            yield name, value
        elif name in SECTIONS and isinstance(value, dict):
            for inner, given in value.items():
                if f"{name}.{inner}" not in BY_PLACE:
                    raise _unknown(f"{name}.{inner}", path)
                yield f"{name}.{inner}", given
        else:
            raise _unknown(name, path)


def _tokens(given: Any, path: str) -> tuple[Token, ...]:
    """Return the tokens of a file: `[tokens.NAME]` with sha256, role and streams."""
    if not isinstance(given, dict):
        raise _unknown(TOKENS, path)
    return tuple(token_from(name, entry, path) for name, entry in given.items())


def _unknown(place: str, path: str) -> ConfigurationError:
    return ConfigurationError(
        f"{path} has a setting {place}, and there is none", hint=near_miss(place, BY_PLACE)
    )


def _require_together(made: Configuration) -> None:
    """Raise where settings do not fit each other."""
    if (made.tls_certificate is None) != (made.tls_key is None):
        missing = "tls.key" if made.tls_key is None else "tls.certificate"
        raise ConfigurationError(
            f"{missing} is missing", hint="TLS needs a certificate and its key"
        )
