"""Rows in from Python, rows out to Python: python examples/python_push.py."""

import tempfile

import penstock

SCRIPT = """
    CREATE STREAM readings (ts TIMESTAMP, room STRING, celsius DOUBLE)
      TIMESTAMP BY ts SLACK INTERVAL 2 SECONDS
      FROM push();

    CREATE QUERY hot AS
      SELECT ts, room, celsius FROM readings WHERE celsius > 30;

    CREATE QUERY mean AS
      SELECT window_start, room, round(avg(celsius), 2) AS celsius
      FROM readings [RANGE 10 SECONDS]
      GROUP BY room;
"""
READINGS = [
    {"ts": f"2026-01-01T12:00:{second:02}Z", "room": room, "celsius": celsius + second / 10}
    for second in range(20)
    for room, celsius in (("attic", 29.0), ("cellar", 15.0))
]


def main() -> None:
    """Push some readings and print what two queries make of them."""
    # A home of its own that is gone afterwards; penstock.connect() keeps .penstock.
    with tempfile.TemporaryDirectory() as home, penstock.connect(home) as ps:
        ps.script(SCRIPT)
        for start in range(0, len(READINGS), 8):
            ps.push("readings", READINGS[start : start + 8])  # kept once this returns
        ps.end("readings")  # no more will come: the last windows close, and iterating ends
        for query in ("hot", "mean"):
            for row in ps.subscribe(query):
                print(query, row["room"], row["celsius"])


if __name__ == "__main__":
    main()
