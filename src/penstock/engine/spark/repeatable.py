"""Whether a SELECT gives the same rows whenever it is asked: all that runs again has to.

After a crash the recorded runs are done again, and what they give takes the place of what was
delivered. So no standing query, rule, event, punctuation or generated column may ask for the
time, for chance, or for where it runs. Catalyst is the judge; names only make its words plain, and
tell of the few functions that Catalyst believes to be the same each time.
"""

import re
from typing import Any

from pyspark.sql import DataFrame

from penstock.engine.spark.spark_functions import AT_RANDOM, AT_SOME_TIME, CHANGING, calls_in
from penstock.errors import NotRepeatableError

# As a constant of a time type, Spark reads such a text as the present: ts > 'yesterday'.
SPECIAL_TIME = re.compile(r"""['"]\s*(?:epoch|now|today|tomorrow|yesterday)\b""", re.IGNORECASE)
WRITTEN_OUT = "write the moment itself: TIMESTAMP '2026-01-31 12:00:00'"


def refuse_calls(sql: str) -> None:
    """Raise where a text calls a function that has another value in another run."""
    if name := next((each for each in calls_in(sql) if each in CHANGING), ""):
        raise _refused(f"{name}()", CHANGING[name], name)


def refuse_changing(frame: DataFrame) -> None:
    """Raise where Catalyst says that a SELECT would give something else in another run."""
    jvm: Any = frame.sparkSession._jvm
    plan: Any = frame._jdf.queryExecution().analyzed()
    current = jvm.org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE()
    if plan.containsPattern(current):
        raise _refused("what depends on when it is asked, or by whom,", AT_SOME_TIME)
    if not plan.deterministic():
        raise _refused("what depends on chance, or on where it runs,", AT_RANDOM)
    if any(_has_special_time(jvm, each) for each in _with_subqueries(plan)):
        error = _refused("a time such as 'now' or 'today'", WRITTEN_OUT)
        error.present = True
        raise error


def _with_subqueries(plan: Any) -> list[Any]:
    inner = plan.subqueriesAll()
    return [plan, *(inner.apply(place) for place in range(inner.size()))]


def _has_special_time(jvm: Any, plan: Any) -> bool:
    """Say whether Spark's optimizer would put the present time into the plan."""
    rules = jvm.org.apache.spark.sql.catalyst.optimizer
    spelled_out = rules.ReplaceExpressions.apply(plan)
    return not rules.SpecialDatetimeValues.apply(spelled_out).fastEquals(spelled_out)


def _refused(what: str, hint: str, call: str = "") -> NotRepeatableError:
    error = NotRepeatableError(
        f"{what} is not the same when it is asked again, and what runs may run again", hint=hint
    )
    error.call = call
    return error
