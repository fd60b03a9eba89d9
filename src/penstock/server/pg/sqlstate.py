"""PostgreSQL's codes for our errors, so that drivers raise the class that fits."""

from penstock.errors import PenstockError, Place, WireError

INTERNAL = "XX000"
CANCELLED = "57014"
# Appendix A of PostgreSQL's documentation lists what each means.
STATES = {
    "PENSTOCK": INTERNAL,
    "SQL_SYNTAX": "42601",
    "NOT_YET": "0A000",
    "UNKNOWN_NAME": "42P01",
    "UNKNOWN_COLUMN": "42703",
    "UNKNOWN_FUNCTION": "42883",
    "UNKNOWN_CONNECTOR": "42704",
    "UNKNOWN_OPTION": "42704",
    "UNKNOWN_SECRET": "42704",
    "NAME_TAKEN": "42P07",
    "NOT_INSTALLED": "0A000",
    "BAD_NAME": "42939",
    "CYCLE": "42P19",
    "IN_USE": "2BP01",
    "BAD_OPTION": "22023",
    "BAD_ARGUMENT": "22023",
    "BAD_WINDOW": "42P20",
    "BAD_EVENT": "42P17",
    "BAD_GRID": "42P17",
    "BAD_FLOW": "42P17",
    "FUNCTION_FAILED": "38000",
    "BAD_QUERY": "42P17",
    "NOT_REPEATABLE": "42P17",
    "NOT_ALLOWED": "42501",
    "TYPE_MISMATCH": "42804",
    "BAD_ROW": "22000",
    "SOURCE_FAILED": "58030",
    "SINK_FAILED": "58030",
    "ACTION_FAILED": "58000",
    "RUN_FAILED": "22000",
    "TIMED_OUT": CANCELLED,
    "CANCELLED": CANCELLED,
    "CLOSED": "57P01",
    "STALLED": "57P03",
    "DISK_FULL": "53100",
    "HOME_BUSY": "55006",
    "BAD_HOME": "58030",
    "HOME_FORMAT": "58030",
    "STATE_UNMATCHED": "55000",
    "NO_SPARK": "57P03",
    "SPARK_DIED": "57P02",
    "WORKERS_UNLIKE": "57P03",
    "HOME_UNSEEN": "58030",
    "NO_JOURNAL": "58030",
    "LEASE_LOST": "57P02",
    "SERVER": INTERNAL,
    "BAD_CONFIGURATION": "F0000",
    "NOT_READY": "57P03",
    "UNAUTHENTICATED": "28P01",
    "FORBIDDEN": "42501",
    "BAD_REQUEST": "22023",
    "WIRE": "08P01",
    "KEY_REUSED": "23505",
    "TOO_LARGE": "54000",
    "TOO_MANY": "53300",
    "UNREACHABLE": "08001",
}


PROTOCOL = "08P01"
FULL, TOO_LONG = "53400", "54000"
BAD_VALUE = "22P02"
BAD_SETTING = "22023"
FAILED_TRANSACTION = "25P02"
NO_STATEMENT = "26000"
NO_CURSOR = "34000"
NAME_IN_USE = "42P03"
NO_PARAMETER = "42P02"
REFUSED = "28000"
WRONG_PASSWORD = "28P01"  # noqa: S105  (a code)


def refused(state: str, message: str, hint: str = "", place: Place | None = None) -> WireError:
    """Return an error with one of PostgreSQL's codes."""
    error = WireError(message, hint=hint, place=place)
    error.state = state
    return error


def state_of(error: PenstockError) -> str:
    """Return the code for an error: its own, or that of the next kind above that has one."""
    if isinstance(error, WireError):
        return error.state
    for kind in type(error).__mro__:
        if (state := STATES.get(getattr(kind, "code", ""))) is not None:
            return state
    return INTERNAL
