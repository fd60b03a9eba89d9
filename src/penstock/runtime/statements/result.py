"""What a statement gave."""

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Result:
    """What a statement gave: a sentence, or rows, or a text such as a plan.

    Attributes:
        message: a sentence, or the text of EXPLAIN; empty where there are rows.
        table: the rows of SELECT, SHOW or DESCRIBE as an Arrow table, otherwise None.
    """

    message: str = ""
    table: pa.Table | None = None
