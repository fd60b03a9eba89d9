"""Spark's exceptions in our words, without Spark; test_analysis.py meets the real ones."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from penstock.engine.spark.spark_errors import CONDITIONS, analysis_error, run_error, sentence
from penstock.errors import BadQueryError, DiskFullError, PenstockError


class Said(PySparkException):
    """What Spark said, with the name it gives to it."""

    def __init__(self, text: str, condition: str = "", **parameters: str) -> None:
        super().__init__(text)
        self._said = (text, condition, parameters)

    def getCondition(self) -> str | None:  # noqa: N802  (Spark's name)
        return self._said[1] or None

    def getMessageParameters(self) -> dict[str, str] | None:  # noqa: N802  (Spark's name)
        return self._said[2]

    def __str__(self) -> str:
        return self._said[0]


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("UNRESOLVED_COLUMN.WITH_SUGGESTION", "UNKNOWN_COLUMN"),
        ("UNRESOLVED_FIELD.WITH_SUGGESTION", "UNKNOWN_COLUMN"),
        ("FIELD_NOT_FOUND", "UNKNOWN_COLUMN"),
        ("UNRESOLVED_ROUTINE", "UNKNOWN_FUNCTION"),
        ("DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES", "TYPE_MISMATCH"),
        ("INVALID_EXTRACT_BASE_FIELD_TYPE", "TYPE_MISMATCH"),
        ("GROUP_BY_POS_AGGREGATE", "BAD_QUERY"),
        ("", "BAD_QUERY"),
    ],
)
def test_sparks_name_for_a_mistake_decides_our_code(condition: str, code: str) -> None:
    assert analysis_error(Said("[X] what is wrong. SQLSTATE: 42000", condition)).code == code


def test_every_condition_has_a_code_of_its_own_kind() -> None:
    for condition, kind in CONDITIONS:
        assert type(analysis_error(Said("no", condition))) is kind
        assert kind is not BadQueryError


def test_a_function_that_is_not_there_is_named() -> None:
    error = analysis_error(Said("long", "UNRESOLVED_ROUTINE", routineName="`foo`"))
    assert error.message == "no function foo"


def test_a_sentence_has_no_apparatus() -> None:
    said = (
        "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column `x` cannot be resolved. "
        "Did you mean one of the following? [`y`]. SQLSTATE: 42703; line 1 pos 7;\n"
        "'Project ['x]\n+- Range (0, 1)\n"
    )
    assert sentence(Said(said)) == (
        "A column `x` cannot be resolved. Did you mean one of the following? [`y`]"
    )


def test_a_job_that_was_aborted_tells_its_cause() -> None:
    said = (
        "Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent failure:"
        " Lost task 0.0: org.apache.spark.SparkException: java.io.IOException: the disk is gone.\n"
        "\tat org.apache.spark.Task.run(Task.scala:1)"
    )
    error = run_error(Said(said))
    assert (error.code, error.message) == ("RUN_FAILED", "the disk is gone")


class Thrown:
    """A Java exception, as far as it is asked."""

    _target_id = "o1"

    def __init__(self, text: str | None, cause: "Thrown | None" = None) -> None:
        self._said = (text, cause)

    def getClass(self) -> "Thrown":  # noqa: N802  (Java's name)
        return self

    def getSimpleName(self) -> str:  # noqa: N802  (Java's name)
        return "OddException"

    def getMessage(self) -> str | None:  # noqa: N802  (Java's name)
        return self._said[0]

    def getCause(self) -> "Thrown | None":  # noqa: N802  (Java's name)
        return self._said[1]


def test_who_only_waited_tells_what_for() -> None:
    cause = Thrown("[FAILED_READ_FILE.NO_HINT] Encountered error while reading file x. SQLSTATE: K")
    waited = Thrown("Exception thrown in awaitResult: ", cause)
    error = run_error(Py4JJavaError("An error occurred", waited))
    assert error.message == "Encountered error while reading file x"
    alone = Thrown("Exception thrown in awaitResult: ")
    assert run_error(Py4JJavaError("", alone)).message == "Exception thrown in awaitResult:"


def test_an_exception_without_a_message_is_told_by_its_cause_or_its_name() -> None:
    caused = Thrown(None, Thrown("there is no room"))
    assert run_error(Py4JJavaError("", caused)).message == "there is no room"
    assert run_error(Py4JJavaError("", Thrown(None))).message == "OddException"


def test_an_error_that_is_ours_stays_what_it_is() -> None:
    full = DiskFullError("no room")
    assert run_error(full) is full


@given(st.text())
@settings(deadline=None)
def test_whatever_spark_says_becomes_one_line(text: str) -> None:
    for error in (analysis_error(Said(text)), run_error(Said(text))):
        assert isinstance(error, PenstockError)
        assert len(error.message.splitlines()) <= 1
