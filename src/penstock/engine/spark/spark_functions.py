"""Spark's functions that are not for everybody: those that change, and those that are doors.

Reviewed for the Spark that `requirements.lock` pins. Every function of Spark's that is named here
or among the harmless ones of tests/engine/test_spark_functions.py has been looked at; a function
that a newer Spark adds is in neither list, and fails that test until somebody has.
"""

import itertools
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from pyspark.sql import SparkSession

from penstock.engine.spark.likeness import TOKEN
from penstock.errors import BadOptionError

# What to use instead of a function whose value is another one when a run is done again.
AT_SOME_TIME = "use a column of the stream: its event time, or a time that the source writes down"
AT_RANDOM = "pmod(xxhash64(id, 42), 100) is as good as random, and the same in every run"
AT_SOME_PLACE = "use a column that numbers the tuples"
SOMEWHERE = "write the value as a constant"
SEALED = "sha2 and hmac give the same text each time"
SKETCHED = "approx_percentile gives quantiles, the same each time"


def _named(text: str, hint: str) -> dict[str, str]:
    return dict.fromkeys(text.split(), hint)


CHANGING: Mapping[str, str] = {
    **_named(
        "curdate current_date current_time current_timestamp localtime localtimestamp now",
        AT_SOME_TIME,
    ),
    **_named("rand randn random randstr shuffle uniform uuid", AT_RANDOM),
    # Each row has its own initial vector, and KLL sketches throw coins about what they keep.
    **_named("aes_encrypt", SEALED),
    **_named(
        """kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint
        kll_sketch_agg_double kll_sketch_agg_float kll_sketch_merge_bigint kll_sketch_merge_double
        kll_sketch_merge_float""",
        SKETCHED,
    ),
    **_named(
        """input_file_block_length input_file_block_start input_file_name
        monotonically_increasing_id spark_partition_id""",
        AT_SOME_PLACE,
    ),
    **_named(
        """current_catalog current_database current_path current_schema current_timezone
        current_user session_user user version""",
        SOMEWHERE,
    ),
}

# They call any method of any class, read files that their arguments name, or fetch what the text
# that they parse points to: from_xml its schema, xpath the document type.
DOORS: Mapping[str, str] = {
    **_named("java_method reflect try_reflect", "it calls any method of any Java class"),
    **_named(
        "from_avro from_protobuf schema_of_avro to_avro to_protobuf",
        "it loads classes and reads files that its arguments name",
    ),
    **_named("from_xml schema_of_xml", "it reads the schema that its options name"),
    **_named(
        """xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number
        xpath_short xpath_string""",
        "it fetches the document type that its text names",
    ),
    **_named("python_worker_logs", "it reads the logs of Spark's workers"),
}
CALL = re.compile(r"`(?:[^`]|``)*`|\w+")


def calls_in(sql: str) -> Iterator[str]:
    """Yield the names of the functions that a text calls, in lower case."""
    tokens = [token for token in TOKEN.findall(sql) if not token.isspace()]
    for word, after in itertools.pairwise(tokens):
        if after == "(" and CALL.fullmatch(word):
            yield word.strip("`").lower()


def refuse_harmless(names: Collection[str]) -> None:
    """Raise where a function is to be allowed that is no door: it may be a slip of the pen."""
    for name in names:
        if name.lower() not in DOORS:
            raise BadOptionError(
                f"{name} is no function that has to be allowed",
                hint=f"such functions are {', '.join(sorted(DOORS))}",
            )


def close_doors(session: SparkSession, allowed: Collection[str]) -> None:
    """Take the functions that are doors out of a session, but those that are allowed.

    The session then knows no such function, however its name is written.
    """
    state: Any = session._jsparkSession.sessionState()
    jvm: Any = session._jvm
    option = jvm.scala.Option
    for name in DOORS.keys() - {each.lower() for each in allowed}:
        full = jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(
            name, option.apply("builtin"), option.apply("system")
        )
        for registry in (state.functionRegistry(), state.tableFunctionRegistry()):
            registry.dropFunction(full)
