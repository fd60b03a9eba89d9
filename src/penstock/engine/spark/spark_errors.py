"""Spark's exceptions in our words."""

import re
from collections.abc import Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from penstock.engine.spark.application.spark_life import refuse_dead
from penstock.engine.spark.spark_functions import DOORS
from penstock.errors import (
    BadQueryError,
    NotAllowedError,
    PenstockError,
    RunError,
    TypeMismatchError,
    UnknownColumnError,
    UnknownFunctionError,
)
from penstock.model.own_names import readable
from penstock.plan.relations.meanings import worded
from penstock.plan.relations.sources import NOTHING

# The first words of Spark's error conditions, in the order in which they are tried.
CONDITIONS: tuple[tuple[str, type[PenstockError]], ...] = (
    ("UNRESOLVED_COLUMN", UnknownColumnError),
    ("UNRESOLVED_FIELD", UnknownColumnError),
    ("FIELD_NOT_FOUND", UnknownColumnError),
    ("UNRESOLVED_ROUTINE", UnknownFunctionError),
    ("UNRESOLVABLE_TABLE_VALUED_FUNCTION", UnknownFunctionError),
    ("REQUIRES_SINGLE_PART_NAMESPACE", UnknownFunctionError),  # system.builtin.nosuch(1)
    ("DATATYPE_MISMATCH", TypeMismatchError),
    ("INCOMPATIBLE_COLUMN_TYPE", TypeMismatchError),
    ("CANNOT_MERGE_INCOMPATIBLE_DATA_TYPE", TypeMismatchError),
    ("UNSUPPORTED_DATATYPE", TypeMismatchError),
    ("UNSUPPORTED_DATA_TYPE_FOR_ARROW", TypeMismatchError),
    ("INVALID_EXTRACT", TypeMismatchError),
)
NAMED_BY = ("routineName", "name", "identifier")  # where these conditions tell the function
# Classes of SQLSTATE that say that a value is at fault: data exceptions, and functions that raised.
DATA_STATES = ("22", "38", "39", "P0")
RESUME = "mend the cause, then RESUME QUERY"
WAITED = "Exception thrown in awaitResult"
QUALIFIER = re.compile(r"`?\b_?penstock_\w+`?\.")
OWN = re.compile(r"`?\b_?penstock_\w+`?")
LISTED = re.compile(r"(?<=\[)…, |, …(?=[,\]])")  # among the names that Spark proposes
NOISE = re.compile(
    r"\s*(SQLSTATE: \w+;?|== SQL.*|; line \d+ pos \d+.*|line \d+ pos \d+.*)", re.DOTALL
)


def analysis_error(error: Exception, meant: Mapping[str, str] = NOTHING) -> PenstockError:
    """Return what is wrong with a SELECT, from what Spark said of it.

    `meant` are names that only we know, with what users call them.
    """
    refuse_dead(error)
    condition = condition_of(error)
    kind = next((kind for start, kind in CONDITIONS if condition.startswith(start)), BadQueryError)
    if kind is UnknownFunctionError and isinstance(error, PySparkException):
        return _unknown_function(error)
    hint = "DESCRIBE shows a stream's columns" if kind is UnknownColumnError else ""
    return kind(sentence(error, meant), hint=hint)


def _unknown_function(error: PySparkException) -> PenstockError:
    """Return that there is no such function, or that it has to be allowed first."""
    given = error.getMessageParameters() or {}
    written = next((given[each] for each in NAMED_BY if each in given), "")
    name = written.replace("`", "").rpartition(".")[2]
    if reason := DOORS.get(name.lower()):
        return NotAllowedError(
            f"the function {name} is closed: {reason}",
            hint="the operator can allow it: allow.functions of a server, or "
            f"connect(allow_functions=['{name.lower()}'])",
        )
    if not name:
        return UnknownFunctionError(sentence(error), hint="Spark SQL's functions can be used")
    return UnknownFunctionError(f"no function {name}", hint="Spark SQL's functions can be used")


def run_error(
    error: Exception, hint: str = RESUME, meant: Mapping[str, str] = NOTHING
) -> PenstockError:
    """Return why a job failed, in one sentence, and what to do about it."""
    if isinstance(error, PenstockError):
        return error
    refuse_dead(error)
    return RunError(sentence(error, meant), hint=hint)


def _told(error: Any) -> str:
    """Return what a Java exception says; one that only tells of a wait has a cause that says it."""
    text = error.getMessage()
    while (text is None or WAITED in text) and (cause := error.getCause()) is not None:
        error, text = cause, cause.getMessage()
    kind = str(error.getClass().getSimpleName())
    if kind == "OutOfMemoryError":
        return f"Spark's memory is too small for it: {text or kind}"
    return str(text or kind)


def _raised(text: str) -> str:
    """Return what a function in Python raised, from the trace that Spark passes on."""
    lines = [line for line in text.splitlines() if line.strip()]
    frames = [place for place, line in enumerate(lines) if line.startswith("  ")]
    last = frames[-1] + 1 if frames else 0
    return lines[min(last, len(lines) - 1)].strip() if lines else "a function in Python failed"


def condition_of(error: Exception) -> str:
    """Return Spark's name for what went wrong, or nothing."""
    return (error.getCondition() or "") if isinstance(error, PySparkException) else ""


def is_data_error(error: BaseException | None) -> bool:
    """Say whether a job failed on a value, such as a zero to divide by: it fails so each time."""
    while error is not None:
        if isinstance(error, PySparkException) and (state := error.getSqlState()):
            return state.startswith(DATA_STATES)
        error = error.__cause__
    return False


def sentence(error: Exception, meant: Mapping[str, str] = NOTHING) -> str:
    """Return the first sentence of Spark's message, without its apparatus."""
    text = _told(error.java_exception) if isinstance(error, Py4JJavaError) else str(error)
    if condition_of(error) == "PYTHON_EXCEPTION":
        return _raised(text)
    cause = re.search(r"(?:Caused by|Exception): [\w.$]*?(?:Exception|Error): (.+)", text)
    text = cause.group(1) if cause and "Job aborted" in text else text
    text = NOISE.sub("", text)
    text = re.sub(r"^\[[A-Z0-9_.]+\]\s*", "", text.strip())
    first = text.splitlines()[0] if text else type(error).__name__
    return in_users_words(first.strip().rstrip("."), meant)


def in_users_words(text: str, meant: Mapping[str, str]) -> str:
    """Return a message without names that only we know."""
    text = QUALIFIER.sub("", worded(text, meant))
    return readable(LISTED.sub("", OWN.sub("…", text)))
