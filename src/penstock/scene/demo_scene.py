"""The scene's scripts, with their numbers filled in."""

from dataclasses import dataclass
from pathlib import Path
from string import Template

HERE = Path(__file__).parent
SCRIPTS = (HERE / "streams.sql", HERE / "queries.sql", HERE / "rules.sql")


@dataclass(frozen=True, slots=True)
class DemoScene:
    """How long it plays, and how many tuples a second there are; the rush comes once."""

    seconds: float
    house_rate: int = 120
    cars_rate: int = 150
    rush_rate: int = 12_000
    steps: int = 8_000  # of working out what a car burns: more than two cores can do for a rush

    @property
    def rush_every(self) -> float:
        """Return after how many seconds the rush is over; the next one comes after the end."""
        return round(self.seconds * 0.7, 1)

    @property
    def rush_length(self) -> float:
        """Return for how many seconds the rush lasts."""
        return round(self.seconds * 0.12, 1)

    @property
    def rush(self) -> tuple[float, float]:
        """Return when the rush begins and ends, in seconds since the streams began."""
        return self.rush_every - self.rush_length, self.rush_every

    def scripts(self) -> tuple[str, str, str]:
        """Return the SQL that makes the streams, that of the queries, and that of the rule."""
        values = {
            "rooms": str(HERE / "rooms.csv").replace("\\", "\\\\").replace("'", "\\'"),
            "house_rate": self.house_rate,
            "cars_rate": self.cars_rate,
            "rush_rate": self.rush_rate,
            "rush_every": self.rush_every,
            "rush_length": self.rush_length,
            "steps": self.steps,
            "jam_cars": self.cars_rate * 4,  # twice what a window of 6 s has on one of four roads
        }
        streams, queries, rules = (
            Template(path.read_text()).substitute(values) for path in SCRIPTS
        )
        return streams, queries, rules
