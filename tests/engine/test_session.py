import pytest
from pyspark.sql import SparkSession

from penstock.engine.spark.application.session import SHARED, SMALL, Sessions, open_sessions

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def sessions(spark: SparkSession) -> Sessions:
    return open_sessions(spark=spark)


def test_three_sessions_stand_beside_the_callers_in_one_application(
    spark: SparkSession, sessions: Sessions
) -> None:
    faces = [spark, sessions.small, sessions.large, sessions.analysis]
    assert len({id(each._jsparkSession) for each in faces}) == 4
    assert {each.sparkContext.applicationId for each in faces} == {spark.sparkContext.applicationId}
    assert not sessions.owned
    assert sessions.slots == spark.sparkContext.defaultParallelism


def test_each_session_has_its_settings(sessions: Sessions) -> None:
    for session in (sessions.small, sessions.large, sessions.analysis):
        assert {name: session.conf.get(name) for name in SHARED} == SHARED
    assert {name: sessions.small.conf.get(name) for name in SMALL} == SMALL
    assert sessions.large.conf.get("spark.sql.shuffle.partitions") == str(sessions.slots)


def test_the_callers_settings_stay(spark: SparkSession) -> None:
    before = dict(spark.conf.getAll)
    open_sessions(spark=spark)
    assert dict(spark.conf.getAll) == before


def test_views_of_one_session_are_not_seen_by_another(
    spark: SparkSession, sessions: Sessions
) -> None:
    sessions.small.sql("SELECT 1 AS x").createOrReplaceTempView("only_small")
    for other in (spark, sessions.large, sessions.analysis):
        assert not other.catalog.tableExists("only_small")


def test_a_callers_spark_outlives_ours(spark: SparkSession) -> None:
    open_sessions(spark=spark).stop()
    assert spark.sql("SELECT 1 AS x").collect()[0]["x"] == 1


def test_times_are_utc_whatever_the_caller_uses(spark: SparkSession) -> None:
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        for session in (sessions := open_sessions(spark=spark)).small, sessions.large:
            (row,) = session.sql(
                "SELECT CAST(TIMESTAMP '1970-01-01 00:00:00' AS LONG) AS t"
            ).collect()
            assert row["t"] == 0
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone or "UTC")
