"""Time buckets: rows that can meet only near each other in time are found by hash (decision 0045).

A row at t can meet those of the other side from t - back to t + ahead. Buckets are back + ahead
long, so these times lie in two of them:

    one side stands once, in the bucket of its time
    the other stands twice, in the bucket of t - back and in the next one

Two rows that can meet share exactly one bucket: a pair is found, and found once.
"""

from penstock.model.own_names import own

BUCKET = own("bucket")


def bucket_sql(time: str, length: int) -> str:
    """Return where the bucket of a time begins; before 1970, too, at or before the time."""
    return f"{time} - pmod({time}, {length}L)"


def spread_sql(rows: str, first: str, length: int) -> str:
    """Return rows twice, in the bucket of their time `first` and in the one after it."""
    begin = bucket_sql(f"({first})", length)
    buckets = f"array({begin}, {begin} + {length}L)"
    return f"(SELECT *, explode({buckets}) AS {BUCKET} FROM {rows})"
