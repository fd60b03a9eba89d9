"""Settings of a session: what clients SET and SHOW, and which of them they are told."""

from dataclasses import dataclass, field

import penstock
from penstock.server.pg.sqlstate import BAD_SETTING, refused

# Clients decide by it what they ask of the catalog: tables as PostgreSQL 14 has them.
SERVER_VERSION = "14.0"
VERSION_NUMBER = "140000"
VERSION_TEXT = f"PostgreSQL {SERVER_VERSION} (Penstock {penstock.__version__})"

FIXED = {
    "server_version": f"{SERVER_VERSION} (Penstock {penstock.__version__})",
    "server_version_num": VERSION_NUMBER,
    "server_encoding": "UTF8",
    "integer_datetimes": "on",
    "is_superuser": "off",
    "in_hot_standby": "off",
    "max_identifier_length": "63",
    "max_index_keys": "32",
    "block_size": "8192",
    "lc_collate": "C.UTF-8",
    "lc_ctype": "C.UTF-8",
}
# What has one value alone: others are refused, since rows would not be what the client reads.
SINGLE = {
    "client_encoding": ("UTF8", ("utf8", "utf-8", "unicode")),
    "standard_conforming_strings": ("on", ("on", "true", "1", "yes")),
}
DEFAULTS = {
    "application_name": "",
    "client_encoding": "UTF8",
    "client_min_messages": "notice",
    "datestyle": "ISO, MDY",
    "default_transaction_isolation": "read committed",
    "default_transaction_read_only": "off",
    "extra_float_digits": "1",
    "intervalstyle": "postgres",
    "lock_timeout": "0",
    "search_path": "public",
    "standard_conforming_strings": "on",
    "statement_timeout": "0",
    "timezone": "UTC",
    "transaction_isolation": "read committed",
    "transaction_read_only": "off",
}
NEVER_CHANGED = ("datestyle", "intervalstyle", "timezone")  # rows are always in these
TOLD = {
    "application_name": "application_name",
    "client_encoding": "client_encoding",
    "datestyle": "DateStyle",
    "default_transaction_read_only": "default_transaction_read_only",
    "in_hot_standby": "in_hot_standby",
    "integer_datetimes": "integer_datetimes",
    "intervalstyle": "IntervalStyle",
    "is_superuser": "is_superuser",
    "server_encoding": "server_encoding",
    "server_version": "server_version",
    "session_authorization": "session_authorization",
    "standard_conforming_strings": "standard_conforming_strings",
    "timezone": "TimeZone",
}
UNITS = {"us": 1e-6, "ms": 1e-3, "": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(slots=True)
class SessionSettings:
    """Names are compared without case; a name that is not known is kept, and does nothing."""

    user: str
    values: dict[str, str] = field(default_factory=dict)

    def get(self, name: str) -> str:
        """Return a setting's value."""
        known = self.all()
        if name.lower() not in known:
            raise refused("42704", f"no setting {name}", hint="SHOW server_version, for one")
        return known[name.lower()]

    def all(self) -> dict[str, str]:
        """Return all settings."""
        return {**DEFAULTS, **self.values, **FIXED, "session_authorization": self.user}

    def set(self, name: str, value: str | None) -> str | None:
        """Change a setting, or take it back; return what is to be said about it, if anything."""
        key = name.lower()
        if not key:
            self.values.clear()
            return None
        if key in FIXED or key == "session_authorization":
            raise refused("55P02", f"{name} cannot be changed")
        if value is None:
            self.values.pop(key, None)
            return None
        if key in SINGLE:
            self._refuse_others(name, value)
            return None
        if key == "statement_timeout":
            seconds_of(value)
        if key in NEVER_CHANGED:
            same = value.lower() in (DEFAULTS[key].lower(), "utc", "etc/utc", "gmt", "iso", "z")
            return None if same else f"{name} stays {DEFAULTS[key]}: rows come in it"
        self.values[key] = value
        return None

    @property
    def told(self) -> dict[str, str]:
        """Return the settings that clients are told about, as they spell them."""
        known = self.all()
        return {shown: known[key] for key, shown in TOLD.items()}

    @property
    def timeout(self) -> float | None:
        """Return how many seconds a statement may take; None is no limit."""
        return seconds_of(self.get("statement_timeout")) or None

    def _refuse_others(self, name: str, value: str) -> None:
        only, spellings = SINGLE[name.lower()]
        if value.lower() not in spellings:
            raise refused(BAD_SETTING, f"{name} is always {only}, and cannot be {value}")


def seconds_of(value: str) -> float:
    """Return a length of time as settings have it: milliseconds where there is no unit."""
    text = value.strip().lower()
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = text[len(digits) :].strip()
    try:
        number = float(digits)
    except ValueError:
        number = -1.0
    if unit not in UNITS or number < 0:
        raise refused(
            BAD_SETTING, f"{value} is no length of time", hint="5000, '5s' or '2min', 0 for none"
        )
    return number * UNITS[unit]
