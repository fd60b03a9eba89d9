"""What reaches outside is closed until the operator opens it by name."""

import pytest

from penstock.client import Connection
from penstock.errors import NotAllowedError, PenstockError

pytestmark = pytest.mark.spark

STREAM = "CREATE STREAM s (ts TIMESTAMP, k STRING, n INT) TIMESTAMP BY ts FROM push();"
REFLECT = "reflect('java.lang.System', 'getProperty', 'user.home')"


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT {REFLECT} AS x",
        f"SELECT system.builtin.{REFLECT} AS x",
        f"SELECT `builtin`.{REFLECT} AS x",
        f"CREATE QUERY q AS SELECT {REFLECT} AS x FROM s",
        f"CREATE QUERY q AS SELECT n FROM s WHERE {REFLECT} = k",
        f"CREATE EVENT e AS SELECT n MASK {REFLECT} = k FROM s",
        f"CREATE RULE r ON s WHEN {REFLECT} = k DO INSERT INTO s SELECT *",
        f"PUNCTUATE s WHERE k = {REFLECT}",
        f"CREATE STREAM g (x STRING) FROM generator(rows => 1, x => {REFLECT})",
        "SELECT xpath_string('<!DOCTYPE a SYSTEM \"http://127.0.0.1:9/x\"><a/>', 'a') AS x",
        "SELECT * FROM python_worker_logs()",
    ],
)
def test_functions_that_reach_outside_are_closed(ps: Connection, text: str) -> None:
    ps.sql(STREAM)
    with pytest.raises(NotAllowedError) as caught:
        ps.sql(text)
    assert "allow_functions" in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM text.`/etc/hostname`",
        "SELECT * FROM `text`.`/etc/hostname` AS x",
        "WITH `text./etc/hostname` AS (SELECT 1) SELECT * FROM text.`/etc/hostname`",
        "SELECT TRANSFORM(1) USING 'cat' AS (x)",
        "SELECT MAP 1 USING 'cat' AS (x)",
        "SELECT * FROM s WHERE n IN (SELECT 1 FROM csv.`/etc/hostname`)",
    ],
)
def test_no_select_reads_a_file_or_starts_a_program(ps: Connection, text: str) -> None:
    ps.sql(STREAM)
    with pytest.raises(PenstockError):
        ps.sql(text)
