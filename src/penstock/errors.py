"""Every error a user can meet: a stable code, one sentence, a hint.

PenstockError
 ├─ SqlError                SQL_SYNTAX           text that does not parse
 │   └─ NotYetError         NOT_YET              a form that parses and does not run yet
 ├─ UnknownNameError        UNKNOWN_NAME         no such stream, table, query
 │   ├─ UnknownColumnError  UNKNOWN_COLUMN
 │   ├─ UnknownFunctionError UNKNOWN_FUNCTION
 │   ├─ UnknownConnectorError UNKNOWN_CONNECTOR  no such interface or sink
 │   ├─ UnknownOptionError  UNKNOWN_OPTION
 │   └─ UnknownSecretError  UNKNOWN_SECRET       no such secret where secrets are kept
 ├─ NameTakenError          NAME_TAKEN
 ├─ BadNameError            BAD_NAME             a name that is kept for Penstock itself
 ├─ CycleError              CYCLE                a query that would read itself
 ├─ InUseError              IN_USE               dropped while others read it
 ├─ BadOptionError          BAD_OPTION           an option's value that does not fit
 │   └─ NotInstalledError   NOT_INSTALLED        a connector whose packages are not there
 ├─ BadArgumentError        BAD_ARGUMENT         a call from Python with a value of another type
 ├─ BadWindowError          BAD_WINDOW
 ├─ BadEventError           BAD_EVENT            an event that cannot be detected
 ├─ BadGridError            BAD_GRID             cells that do not nest, a window with none of them
 ├─ BadFlowError            BAD_FLOW             functions and templates that do not fit together
 ├─ FunctionError           FUNCTION_FAILED      a function that could not work on an item
 ├─ BadQueryError           BAD_QUERY            a SELECT that cannot stand over a stream
 │   └─ NotRepeatableError  NOT_REPEATABLE       what another run would answer otherwise
 ├─ NotAllowedError         NOT_ALLOWED          what the operator has to allow first
 ├─ TypeMismatchError       TYPE_MISMATCH
 ├─ BadRowError             BAD_ROW              a pushed row that does not fit its stream
 ├─ SourceError             SOURCE_FAILED        a source that cannot be read
 ├─ SinkError               SINK_FAILED          a sink that cannot be written
 ├─ ActionError             ACTION_FAILED        an action of a rule that could not be done
 ├─ RunError                RUN_FAILED           a unit that Spark could not run
 │   ├─ TimedOutError       TIMED_OUT            what took longer than it may
 │   └─ CancelledError      CANCELLED            a statement that somebody cancelled
 ├─ ClosedError             CLOSED               a connection that was closed
 ├─ StalledError            STALLED              a wait for what nobody is going to do
 ├─ DiskFullError           DISK_FULL
 ├─ HomeBusyError           HOME_BUSY            another process holds the home directory
 ├─ HomeError               BAD_HOME             a home that cannot be used
 │   ├─ JournalError        NO_JOURNAL           a journal in PostgreSQL that cannot be used
 │   │   └─ LeaseLostError  LEASE_LOST           the right to write it has gone
 │   ├─ HomeFormatError     HOME_FORMAT          a home that another version of Penstock wrote
 │   └─ HomeUnseenError     HOME_UNSEEN          a home that the workers of a cluster do not see
 ├─ StateUnmatchedError     STATE_UNMATCHED      a query's state that belongs to another plan
 ├─ SparkMissingError       NO_SPARK             Java or the Spark master cannot be reached
 ├─ WorkersUnlikeError      WORKERS_UNLIKE       workers of a cluster with another Python
 ├─ SparkDiedError          SPARK_DIED           Spark's Java process has ended
 └─ ServerError             SERVER               what only `penstock serve` and its clients meet
     ├─ ConfigurationError  BAD_CONFIGURATION    a setting that cannot be read or does not fit
     ├─ NotReadyError       NOT_READY            the home is being opened, or closed
     ├─ NotAuthenticatedError UNAUTHENTICATED    no token where one is needed, or none of ours
     ├─ ForbiddenError      FORBIDDEN            what a token's role or streams do not cover
     ├─ BadRequestError     BAD_REQUEST          a request that cannot be read
     │   └─ WireError       WIRE                 one of PostgreSQL's protocol
     ├─ KeyReusedError      KEY_REUSED           an idempotency key that came with other rows
     ├─ TooLargeError       TOO_LARGE
     ├─ TooManyError        TOO_MANY             more requests than the limits allow
     └─ UnreachableError    UNREACHABLE          a server that does not answer its client
"""

from dataclasses import dataclass
from typing import ClassVar
from unicodedata import east_asian_width

SHOWN = 80  # characters of a value that an error repeats
LONGEST = 4_000  # of a message or a hint: whole schemas fit, a line of a large file does not
LINE = 160  # of a statement's line that is shown above a caret


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a text something stands; lines and columns count from one."""

    line: int
    column: int
    source: str = ""

    def caret(self) -> str:
        """Return the source line with a caret under the place, or nothing without a source."""
        if not self.source:
            return ""
        lines = self.source.splitlines() or [""]
        text = lines[min(self.line, len(lines)) - 1].replace("\t", " ")
        text, column = _around(text, self.column - 1)
        before = sum(2 if east_asian_width(c) in "WF" else 1 for c in text[:column])
        return f"{text}\n{' ' * before}^"


def shortened(text: str, most: int = SHOWN) -> str:
    """Return the text with its middle left out where it is long: both ends say what it is.

    Every error that repeats what somebody has written goes through here.
    """
    if len(text) <= most:
        return text
    describe = f" … ({len(text):,} characters) … "
    kept = max(0, most - len(describe))
    end = kept // 4
    return f"{text[: kept - end]}{describe}{text[len(text) - end :]}"


def quoted_value(value: object) -> str:
    """Return a value as an error repeats it."""
    return shortened(repr(value))


def _around(text: str, column: int) -> tuple[str, int]:
    """Return the part of a line around a column, and the column in that part."""
    if len(text) <= LINE:
        return text, column
    begin = max(0, min(column - LINE // 2, len(text) - LINE))
    before, after = "…" if begin else "", "…" if begin + LINE < len(text) else ""
    return f"{before}{text[begin : begin + LINE]}{after}", column - begin + len(before)


class PenstockError(Exception):
    """What is wrong, where, and what to do about it: the base of all errors of Penstock.

    Attributes:
        code: the stable name of the kind of error, for programs to compare with.
        message: one sentence that says what is wrong.
        hint: what to do about it, or an empty text.
        place: the line and column in the SQL text, counted from one, where there is one.
    """

    code: ClassVar[str] = "PENSTOCK"

    def __init__(self, message: str, *, hint: str = "", place: Place | None = None) -> None:
        """Keep the sentence, the hint and the place apart, so that each way in can show them."""
        self.message = shortened(message, LONGEST)
        self.hint = shortened(hint, LONGEST)
        super().__init__(self.message)
        self.place = place

    def __str__(self) -> str:
        """Return the whole story on a few lines."""
        where = f" (line {self.place.line}, column {self.place.column})" if self.place else ""
        lines = [f"{self.code}: {self.message}{where}"]
        if self.place and (caret := self.place.caret()):
            lines.append(caret)
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class SqlError(PenstockError):
    """Text that does not parse.

    Look at the line and column under the caret; the hint says what was expected there.
    """

    code = "SQL_SYNTAX"


class NotYetError(SqlError):
    """A form of Spark SQL that does not run over streams yet.

    Write it in the form that the hint names, or ask for it in a one-time SELECT.
    """

    code = "NOT_YET"


class UnknownNameError(PenstockError):
    """No stream, table, query, event, rule or type has this name.

    `SHOW STREAMS`, `SHOW QUERIES` and their like list the names that there are.
    """

    code = "UNKNOWN_NAME"


class UnknownColumnError(UnknownNameError):
    """No such column, or a column that is there twice.

    `DESCRIBE name` lists the columns; write `input.column` where two inputs have it.
    """

    code = "UNKNOWN_COLUMN"


class UnknownFunctionError(UnknownNameError):
    """No such function.

    Check its spelling; register a function of your own before a query calls it.
    """

    code = "UNKNOWN_FUNCTION"


class UnknownConnectorError(UnknownNameError):
    """No such interface after FROM, or no such sink after INTO.

    The hint lists those that there are.
    """

    code = "UNKNOWN_CONNECTOR"


class UnknownOptionError(UnknownNameError):
    """No such option.

    The hint lists the options that are taken in this place.
    """

    code = "UNKNOWN_OPTION"


class UnknownSecretError(UnknownNameError):
    """A secret that neither the environment nor the place of secrets has.

    Set `PENSTOCK_SECRET_NAME`, or write it where `PENSTOCK_SECRETS` leads; it is tried again.
    """

    code = "UNKNOWN_SECRET"


class NameTakenError(PenstockError):
    """Something of that name exists already.

    Take another name, or write `IF NOT EXISTS` or `OR REPLACE`.
    """

    code = "NAME_TAKEN"


class BadNameError(PenstockError):
    """A name that cannot be given, because it begins with `_penstock_`.

    Take a name that begins otherwise.
    """

    code = "BAD_NAME"


class CycleError(PenstockError):
    """A query that would read its own output.

    Read the stream below it, or let a rule insert into a stream.
    """

    code = "CYCLE"


class InUseError(PenstockError):
    """Something that others still read cannot be dropped or replaced.

    Drop those that the message names first.
    """

    code = "IN_USE"


class BadOptionError(PenstockError):
    """An option that is given twice, or whose value does not fit.

    Give a value of the kind that the message names.
    """

    code = "BAD_OPTION"


class NotInstalledError(BadOptionError):
    """A connector that needs packages which are not installed.

    Install the extra that the hint names, such as `pip install 'penstock[kafka]'`.
    """

    code = "NOT_INSTALLED"


class BadArgumentError(PenstockError):
    """A call from Python with a value of another type.

    Pass a value of the type that the message names.
    """

    code = "BAD_ARGUMENT"


class BadWindowError(PenstockError):
    """A window that makes no sense.

    Correct its size, slide or bounds as the hint says.
    """

    code = "BAD_WINDOW"


class BadEventError(PenstockError):
    """An event that cannot be detected, or that would keep more and more.

    Bound it, for instance by `WITHIN INTERVAL …`, as the hint says.
    """

    code = "BAD_EVENT"


class BadGridError(PenstockError):
    """A base or a perspective whose cells cannot be computed, or a window without cells.

    Choose steps that are multiples of the source's, and a window that holds a cell's corner.
    """

    code = "BAD_GRID"


class BadFlowError(PenstockError):
    """Functions and templates that do not fit together.

    Compare what each function takes and returns with its neighbours; `EXPLAIN` shows the flow.
    """

    code = "BAD_FLOW"


class FunctionError(PenstockError):
    """A function that could not work on an item.

    Read the items that were set aside: `SELECT * FROM query.held`.
    """

    code = "FUNCTION_FAILED"


class BadQueryError(PenstockError):
    """A SELECT that cannot stand over a stream.

    Give it a window or another bound, as the hint says, or ask it once as a SELECT.
    """

    code = "BAD_QUERY"


class NotRepeatableError(BadQueryError):
    """A function or a constant that has another value when a run is done again.

    Use the event time, a hash or a constant instead; one-time SELECTs take such functions.
    """

    code = "NOT_REPEATABLE"
    call = ""  # the function's name, as far as it is known
    present = False  # whether it is a constant such as 'now'


class NotAllowedError(PenstockError):
    """Something that reaches outside, and that the operator has not allowed.

    Allow it by the option of `connect` or of the command line that the hint names.
    """

    code = "NOT_ALLOWED"


class TypeMismatchError(PenstockError):
    """An expression, a column or `TIMESTAMP BY` over values of the wrong type, or an unknown type.

    Cast the value, or declare the column with the type that it has.
    """

    code = "TYPE_MISMATCH"


class BadRowError(PenstockError):
    """A pushed row that does not fit its stream.

    Correct the row and column that the message names and push again: nothing was taken.
    """

    code = "BAD_ROW"


class SourceError(PenstockError):
    """A source that cannot be read.

    Look at `SHOW STREAMS` for the cause; the source is tried again by itself.
    """

    code = "SOURCE_FAILED"


class SinkError(PenstockError):
    """A sink that cannot be written; its query is held after some tries.

    Mend the sink, then `RESUME QUERY`: the rows are waiting.
    """

    code = "SINK_FAILED"


class ActionError(PenstockError):
    """An action of a rule that could not be done.

    Read `SELECT * FROM rule.dead`, mend the cause, then `RETRY RULE`.
    """

    code = "ACTION_FAILED"


class RunError(PenstockError):
    """A SELECT or a run of a query that Spark could not do, such as for a division by zero.

    Correct the expression that the message names; the query is held until `RESUME QUERY`.
    """

    code = "RUN_FAILED"


class StalledError(PenstockError):
    """A wait in which nothing goes on, and nothing says why.

    Run the same command again; if it stalls again, `penstock check` says what is damaged.
    """

    code = "STALLED"


class TimedOutError(RunError):
    """A statement or a run that took longer than it may.

    Ask for less, or raise `SET STATEMENT_TIMEOUT` or `SET RUN_TIMEOUT`.
    """

    code = "TIMED_OUT"


class CancelledError(RunError):
    """A statement that was cancelled.

    Nothing has to be done; what it would have changed is as it was.
    """

    code = "CANCELLED"


class ClosedError(PenstockError):
    """A connection that was closed.

    `penstock.connect()` opens another one on the same home.
    """

    code = "CLOSED"


class DiskFullError(PenstockError):
    """No room left where Penstock writes.

    Make room on the disk that the message names; what was acknowledged stays.
    """

    code = "DISK_FULL"


class HomeBusyError(PenstockError):
    """Another process has the home directory open.

    End that process, or take another `--home`.
    """

    code = "HOME_BUSY"


class HomeError(PenstockError):
    """A home directory that cannot be used.

    Run `penstock check` on it, and `penstock repair` where something is damaged.
    """

    code = "BAD_HOME"


class HomeFormatError(HomeError):
    """A home that another version of Penstock wrote, and this one cannot read.

    Open it with the version that the message names, or run your scripts in a new home.
    """

    code = "HOME_FORMAT"


class JournalError(HomeError):
    """A journal in PostgreSQL that cannot be reached or used, or is not this home's.

    Look whether the server runs and the user may write there; the home itself is as it was.
    """

    code = "NO_JOURNAL"


class LeaseLostError(JournalError):
    """The lease on a journal in PostgreSQL is lost, so nothing more may be written.

    Start it again: what was acknowledged is there, and whoever takes the lease goes on from it.
    """

    code = "LEASE_LOST"


class HomeUnseenError(HomeError):
    """A home that the workers of a cluster do not see, or may not read.

    Put it on a file system that driver and workers see under the same path.
    """

    code = "HOME_UNSEEN"


class StateUnmatchedError(PenstockError):
    """A query's state that belongs to another plan than its definition gives now.

    Go back to the version that wrote it, or `RESUME QUERY` to begin it anew.
    """

    code = "STATE_UNMATCHED"


class SparkMissingError(PenstockError):
    """Java or the Spark master cannot be reached.

    Install Java 17 or newer or set `JAVA_HOME`; check the address in `--master`.
    """

    code = "NO_SPARK"


class WorkersUnlikeError(PenstockError):
    """A cluster's workers that have another Python or Penstock than the driver, or lack a package.

    Give them the driver's Python, with pyarrow and numpy; Penstock itself is shipped to them.
    """

    code = "WORKERS_UNLIKE"


class SparkDiedError(PenstockError):
    """Spark's Java process has ended under what runs on it.

    Give Spark more memory, then connect or run again: everything goes on from the last checkpoint.
    """

    code = "SPARK_DIED"


class ServerError(PenstockError):
    """What only a server and its clients meet; those below say what it is.

    Look at the server's log for the request's id.
    """

    code = "SERVER"


class ConfigurationError(ServerError):
    """A setting of the server that cannot be read, or whose value does not fit.

    `penstock config` shows every setting, its value, and where that comes from.
    """

    code = "BAD_CONFIGURATION"


class NotReadyError(ServerError):
    """The server is opening its home, or closing it.

    Ask again in some seconds; `/health/ready` says when it is ready.
    """

    code = "NOT_READY"


class NotAuthenticatedError(ServerError):
    """A request without a token where one is needed, or with one that the server does not know.

    Send `Authorization: Bearer TOKEN`; `penstock token make` makes one.
    """

    code = "UNAUTHENTICATED"


class ForbiddenError(ServerError):
    """Something that the token's role or streams do not cover.

    Use a token with the role that the hint names.
    """

    code = "FORBIDDEN"


class BadRequestError(ServerError):
    """A request that cannot be read.

    Correct its body, header or parameter as the hint says.
    """

    code = "BAD_REQUEST"


class WireError(BadRequestError):
    """A request of PostgreSQL's protocol that cannot be done; clients see its SQLSTATE alone.

    Send what the protocol has in this place, or what the hint names.
    """

    code = "WIRE"
    state = "08P01"  # protocol_violation


class KeyReusedError(ServerError):
    """An idempotency key that came before with other rows.

    Take a new key for each push, and the same one only to repeat it.
    """

    code = "KEY_REUSED"


class TooLargeError(ServerError):
    """A request or an answer that is larger than the server's limits.

    Send it in parts, ask for less, or raise the limit that the hint names.
    """

    code = "TOO_LARGE"


class TooManyError(ServerError):
    """More requests, statements or subscribers than the server's limits allow.

    Ask again later, as `Retry-After` says, or raise the limit that the hint names.
    """

    code = "TOO_MANY"
    seconds = 1.0  # after which it may be tried again


class UnreachableError(ServerError):
    """A server that does not answer its client, or something else that answers in its place.

    Check the URL and whether the server runs; the hint says where something may have been done.
    """

    code = "UNREACHABLE"


def describe(error: BaseException) -> str:
    """Return an error as a query's cause: ours as it is, others on one line."""
    if isinstance(error, PenstockError):
        return str(error)
    return shortened(f"{type(error).__name__}: {error}".splitlines()[0], LONGEST)
