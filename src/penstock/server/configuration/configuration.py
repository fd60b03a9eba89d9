"""What is in force: one frozen value, which knows where each part of it came from."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType

from penstock.server.access.tokens import Token
from penstock.server.configuration.settings import SETTINGS, Setting


@dataclass(frozen=True, slots=True)
class Configuration:
    """The value of every setting (settings.py); `origins` says where each was given.

    `tokens` are those that the file names, beside those that the home keeps.
    """

    home: str
    master: str | None
    spark: tuple[tuple[str, str], ...]
    journal: str | None
    http_host: str
    http_port: int
    http_hosts: tuple[str, ...]
    http_origins: tuple[str, ...]
    http_page: bool
    pg_host: str | None
    pg_port: int | None
    tls_certificate: str | None
    tls_key: str | None
    limits_body: int
    limits_answer: int
    limits_upload: float
    limits_statements: int
    limits_waiting: int
    limits_subscribers: int
    limits_behind: int
    limits_requests: int | None
    limits_connections: int
    limits_statement_timeout: float | None
    limits_run_timeout: float | None
    limits_stop: float
    limits_keys: float
    allow_commands: tuple[str, ...]
    allow_hosts: tuple[str, ...]
    allow_formats: tuple[str, ...]
    allow_functions: tuple[str, ...]
    allow_writable: tuple[str, ...]
    allow_readable: tuple[str, ...]
    buffers_each: int
    buffers_total: int
    buffers_sink: int
    runtime_strategy: str
    runtime_batching: str
    runtime_slots: int | None
    runtime_checkpoint: float
    log_level: str
    log_format: str
    log_requests: bool
    log_audit: str | None
    tokens: tuple[Token, ...] = ()
    origins: Mapping[str, str] = field(
        default_factory=lambda: MappingProxyType({}), compare=False, repr=False
    )

    @property
    def is_loopback(self) -> bool:
        """Say whether nobody outside of this machine can reach a listener."""
        hosts = {self.http_host, self.pg_host or self.http_host}
        return all(map(is_loopback, hosts))

    @property
    def audit_file(self) -> Path:
        """Return the file that says who changed what."""
        return Path(self.log_audit or Path(self.home) / "audit.jsonl").expanduser()

    def shown(self) -> Iterator[tuple[Setting, str, str]]:
        """Yield every setting, its value as TOML writes it, and where that was given."""
        for setting in SETTINGS:
            value = setting.kind.write(getattr(self, setting.field))
            yield setting, value, self.origins.get(setting.place, "default")


def is_loopback(host: str) -> bool:
    """Say whether an address reaches this machine alone."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
