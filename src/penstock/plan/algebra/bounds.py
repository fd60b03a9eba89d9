"""Bounds: how wrong an answer over a sample may be, as functions of Spark SQL.

They are those of `penstock.qos.contracts.answers`, where they are explained. Each session has to
have them before it runs a query over a sample.
"""

from penstock.model.own_names import own

Z = 1.959964  # of the normal distribution, for 95 %
FIRST, SECOND = (Z**3 + Z) / 4, (5 * Z**5 + 16 * Z**3 + 3 * Z) / 96  # Student's t over it
ENDLESS = "CAST('Infinity' AS DOUBLE)"

COUNT, SUM, MEAN = own("count_error"), own("sum_error"), own("mean_error")
T, LOW, OVER, HALF, BESIDE = map(own, ("t", "low", "over", "half", "beside"))

# By name: parameters and what it gives. Those that come first are used by those that follow.
FUNCTIONS = {
    T: (
        "rows BIGINT",
        f"{Z}D + {FIRST}D / greatest(1, rows - 1) + {SECOND}D / pow(greatest(1, rows - 1), 2)",
    ),
    LOW: (
        "size DOUBLE, spread DOUBLE",
        "size + spread / 2 - sqrt(spread * size + spread * spread / 4)",
    ),
    OVER: (
        "size DOUBLE, low DOUBLE",
        f"CASE WHEN low > 0 THEN (size - low) / low ELSE {ENDLESS} END",
    ),
    COUNT: (
        "size DOUBLE, variance DOUBLE",
        "CASE WHEN variance = 0 THEN 0D WHEN size > 0 "
        f"THEN {OVER}(size, {LOW}(size, {Z * Z}D * variance / size)) END",
    ),
    SUM: (
        "size DOUBLE, variance DOUBLE, rows BIGINT",
        f"CASE WHEN variance = 0 THEN 0D WHEN size > 0 AND rows > 1 THEN {OVER}(size, "
        f"{LOW}(size, pow({T}(rows), 2) * variance / size)) END",
    ),
    HALF: (
        "count DOUBLE, variance DOUBLE, rows BIGINT",
        f"{T}(rows) * sqrt(greatest(0D, variance) * rows / greatest(1, rows - 1)) / count",
    ),
    BESIDE: (
        "size DOUBLE, half DOUBLE",
        f"CASE WHEN half < size THEN half / (size - half) WHEN half = 0 THEN 0D ELSE {ENDLESS} END",
    ),
    MEAN: (
        "mean DOUBLE, count DOUBLE, counts DOUBLE, both DOUBLE, totals DOUBLE, rows BIGINT",
        f"CASE WHEN counts = 0 THEN 0D WHEN rows > 1 THEN {BESIDE}(abs(mean), {HALF}("
        "count, totals - 2 * mean * both + mean * mean * counts, rows)) END",
    ),
}


def definitions() -> list[str]:
    """Return the statements that make them."""
    return [
        f"CREATE OR REPLACE TEMPORARY FUNCTION {name}({parameters}) RETURNS DOUBLE RETURN {gives}"
        for name, (parameters, gives) in FUNCTIONS.items()
    ]
