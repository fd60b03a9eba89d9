"""The settings there are: each with its place in the file, its kind, default and meaning.

`http.port` is `port` below `[http]` in the file, and `PENSTOCK_HTTP_PORT` in the environment.
"""

from dataclasses import dataclass
from typing import Any

from penstock.server.configuration.kinds import (
    BYTE_SIZE,
    FLAG,
    LENGTH_OF_TIME,
    PAIRS,
    PORT,
    SECRET_URL,
    TEXT,
    TEXTS,
    Kind,
    one_of,
    or_none,
    whole,
)

LOOPBACK = "127.0.0.1"
MIB = 1 << 20
OF_SERVERS = ("http.", "pg.", "tls.")


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting; `flag` is its option of commands that open a home, where it has one."""

    place: str
    kind: Kind
    default: Any
    about: str
    flag: str = ""

    @property
    def is_of_servers(self) -> bool:
        """Say whether it means nothing where nobody is served."""
        return self.place.startswith(OF_SERVERS)

    @property
    def field(self) -> str:
        """Return its name in `Configuration`."""
        return self.place.replace(".", "_")

    @property
    def variable(self) -> str:
        """Return its name in the environment."""
        return f"PENSTOCK_{self.field.upper()}"


SETTINGS = (
    Setting(
        "home", TEXT, ".penstock", "where definitions, progress and results are kept", "--home"
    ),
    Setting(
        "master",
        or_none(TEXT),
        None,
        "the Spark master to run on: without it that of spark-submit, else local[*]",
        "--master",
    ),
    Setting(
        "spark",
        PAIRS,
        (),
        "settings of Spark as NAME=VALUE, such as spark.executor.memory=4g",
        "--conf",
    ),
    Setting(
        "journal",
        or_none(SECRET_URL),
        None,
        "where catalog and journal are kept, postgresql://…, if not in the home",
        "--journal",
    ),
    Setting("http.host", TEXT, LOOPBACK, "the address that HTTP listens on", "--host"),
    Setting("http.port", PORT, 8080, "the port of HTTP; 0 takes a free one", "--port"),
    Setting("http.hosts", TEXTS, (), "names of this server that a request's Host may have, too"),
    Setting("http.origins", TEXTS, (), "sites whose scripts may ask: none, but for our own page"),
    Setting("http.page", FLAG, True, "whether the page is served"),
    Setting(
        "pg.host", or_none(TEXT), None, "the address that PostgreSQL's protocol listens on: http's"
    ),
    Setting(
        "pg.port",
        or_none(PORT),
        None,
        "the port of PostgreSQL's protocol; 0 takes a free one, none turns it off",
        "--pg-port",
    ),
    Setting("tls.certificate", or_none(TEXT), None, "a file of the certificate and its chain"),
    Setting("tls.key", or_none(TEXT), None, "a file of the certificate's key"),
    Setting("limits.body", BYTE_SIZE, 64 * MIB, "bytes of a request, when unpacked as well"),
    Setting("limits.answer", BYTE_SIZE, 256 * MIB, "bytes of the rows of one answer"),
    Setting("limits.upload", LENGTH_OF_TIME, 60.0, "how long a request's body may take to come"),
    Setting("limits.statements", whole(1, 1_000), 8, "statements that are carried out at once"),
    Setting("limits.waiting", whole(0, 100_000), 64, "statements that may wait for that"),
    Setting("limits.subscribers", whole(0, 1_000_000), 1_000, "subscribers at once"),
    Setting(
        "limits.behind",
        whole(1, 10_000_000),
        10_000,
        "rows that wait in memory for a slow subscriber; older ones are read from the log",
    ),
    Setting(
        "limits.requests", or_none(whole(1, 10_000_000)), 5_000, "requests a second of one token"
    ),
    Setting("limits.connections", whole(1, 1_000_000), 2_000, "connections of HTTP at once"),
    Setting(
        "limits.statement_timeout", or_none(LENGTH_OF_TIME), 600.0, "how long one SELECT may take"
    ),
    Setting(
        "limits.run_timeout", or_none(LENGTH_OF_TIME), 1_800.0, "how long a run of a query may take"
    ),
    Setting(
        "limits.stop",
        LENGTH_OF_TIME,
        10.0,
        "how long requests are waited for when the server stops",
    ),
    Setting(
        "limits.keys",
        LENGTH_OF_TIME,
        86_400.0,
        "how long idempotency keys are remembered, at least",
    ),
    Setting("allow.commands", TEXTS, (), "programs that rules may start, by their whole paths"),
    Setting(
        "allow.hosts",
        TEXTS,
        (),
        "hosts that webhooks of rules and connectors may reach, as host or host:port",
        "--allow-host",
    ),
    Setting(
        "allow.formats",
        TEXTS,
        (),
        "formats that spark(format => …) may read, too",
        "--allow-format",
    ),
    Setting(
        "allow.functions",
        TEXTS,
        (),
        "functions of Spark's that admins may call although they load classes or read files",
    ),
    Setting(
        "allow.writable",
        TEXTS,
        (),
        "directories below which statements may write files",
        "--writable",
    ),
    Setting(
        "allow.readable",
        TEXTS,
        (),
        "directories below which statements may read files",
        "--readable",
    ),
    Setting("buffers.each", BYTE_SIZE, 256 * MIB, "bytes that one buffer holds in memory"),
    Setting("buffers.total", BYTE_SIZE, 1024 * MIB, "bytes that all of them hold in memory"),
    Setting("buffers.sink", BYTE_SIZE, 1024 * MIB, "bytes that may wait for one query's sink"),
    Setting("runtime.strategy", TEXT, "round_robin", "what chooses the next unit"),
    Setting("runtime.batching", TEXT, "everything", "how much of what waits a run takes"),
    Setting(
        "runtime.slots",
        or_none(whole(1, 10_000)),
        None,
        "units that run at once: as many as Spark has",
    ),
    Setting("runtime.checkpoint", LENGTH_OF_TIME, 10.0, "the time from one checkpoint to the next"),
    Setting(
        "log.level",
        one_of("debug", "info", "warning", "error"),
        "info",
        "what is logged: this and what is worse",
        "--log-level",
    ),
    Setting(
        "log.format",
        one_of("text", "json"),
        "text",
        "how it is logged, to standard error",
        "--log-format",
    ),
    Setting("log.requests", FLAG, True, "whether every request is logged"),
    Setting(
        "log.audit",
        or_none(TEXT),
        None,
        "a file that says who changed what: audit.jsonl in the home",
    ),
)
BY_PLACE = {each.place: each for each in SETTINGS}
