"""Scripts to begin with, which the editor offers."""

from dataclasses import asdict, dataclass
from typing import Any

from penstock.scene.demo_scene import DemoScene

DEMO_SECONDS = 60.0  # between two rushes there is time to look


@dataclass(frozen=True, slots=True)
class Example:
    """One script; `demo` marks the one that a button plays."""

    title: str
    about: str
    sql: str
    demo: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return it as the page reads it."""
        return asdict(self)


EXAMPLES = (
    Example(
        "Stream and query",
        "rows that are pushed, and windows over them",
        """-- A stream that clients push rows to, and a standing query over windows of it.
CREATE STREAM readings (ts TIMESTAMP, room STRING, celsius DOUBLE)
  TIMESTAMP BY ts  SLACK INTERVAL 1 SECOND
  FROM push();

CREATE QUERY warmth AS
  SELECT window_end, room, round(avg(celsius), 1) AS celsius
  FROM readings [RANGE 5 SECONDS]
  GROUP BY room;
""",
    ),
    Example(
        "Generated stream with a contract",
        "a source without clients, and a query that promises its latency",
        """-- Rows that are made up, and a query that promises how late its answers are at most.
CREATE STREAM trips (ts TIMESTAMP, city STRING, fare DOUBLE)
  TIMESTAMP BY ts  SLACK INTERVAL 1 SECOND
  FROM generator(rate => 200,
    city => CASE WHEN u1 < 0.5 THEN 'Oslo' WHEN u1 < 0.8 THEN 'Porto' ELSE 'Graz' END,
    fare => round(5 + 40 * u2, 2));

CREATE QUERY takings WITH (max_latency => INTERVAL 10 SECONDS) AS
  SELECT window_end, city, count(*) AS trips, round(sum(fare), 2) AS fares
  FROM trips [RANGE 4 SECONDS]
  GROUP BY city;
""",
    ),
    Example(
        "Event and rule",
        "two rows one after the other, and what is done about it",
        """-- Two hot readings of one room in a row are an event; a rule writes it down.
CREATE EVENT hot AS SELECT room, celsius MASK celsius > 40 FROM readings;
CREATE EVENT hot_twice AS
  SELECT b.room, b.celsius FROM (hot a SEQ hot b) PARTITION BY room WITHIN INTERVAL 1 MINUTE;
CREATE STREAM alarms (room STRING, celsius DOUBLE) FROM push();
CREATE QUERY alarmed AS SELECT room, celsius FROM alarms;
CREATE RULE write_down ON hot_twice DO INSERT INTO alarms SELECT room, celsius;
""",
    ),
    Example(
        "What the system knows of itself",
        "figures by SQL",
        """-- Everything that the page shows can be asked.
SELECT query, state, rows_out, delay_p99_ms FROM system.queries ORDER BY delay_p99_ms DESC;
SELECT stream, rows_per_s, watermark FROM system.streams;
SHOW LOAD;
""",
    ),
    Example(
        "The demo: a house and a street",
        "two streams, seven queries, a rush of cars, an event and a rule",
        "".join(DemoScene(DEMO_SECONDS).scripts()),
        demo=True,
    ),
)
