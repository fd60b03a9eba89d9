"""E4.3: how many queries share an operator."""

from penstock.experiments.trial import OPTPROFIT, Effort, Setting, leads, scores, table
from penstock.sim.report import Claim, Report
from penstock.sim.workloads.random_queries import QuerySet

QUERIES = 24
OPERATORS = (72, 48, 40, 34, 28)


def sharing(seed: int, effort: Effort) -> Report:
    """Vary the number of operators for the same number of queries."""
    points = [QUERIES / each for each in OPERATORS]
    sets = [QuerySet((QUERIES, QUERIES), (each, each)) for each in OPERATORS]
    found = scores([Setting(queries=each) for each in sets], seed, effort)
    gains = [a - b for a, b in zip(found["OptProfit"], found["Basic"], strict=True)]
    return Report(
        "E4.3: operator sharing",
        f"QoS score by queries an operator, {QUERIES} queries",
        ("queries/operators", *found),
        table(points, found),
        (
            Claim(
                "the OptProfit family is best throughout",
                all(leads(found, place, OPTPROFIT) for place in range(len(points))),
            ),
            Claim("OptProfit is above Basic throughout", min(gains) > 0),
            Claim("and more so the more is shared", gains[-1] > gains[0]),
        ),
    )
