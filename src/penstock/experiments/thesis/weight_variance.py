"""E4.4: how different queries' weights are."""

from penstock.experiments.trial import Effort, Setting, best, scores, table
from penstock.sim.report import Claim, Report
from penstock.sim.workloads.random_queries import QuerySet

WEIGHTS = ((5, 5), (4, 7), (3, 8), (2, 9), (1, 10), (1, 30))


def weight_variance(seed: int, effort: Effort) -> Report:
    """Vary the range of the weights."""
    found = scores([Setting(queries=QuerySet(weights=each)) for each in WEIGHTS], seed, effort)
    rise = {name: -(each[0] - each[-1]) for name, each in found.items()}
    top = found[best(found, 0)][0]
    return Report(
        "E4.4: variance of weights",
        "QoS score by the range that weights are drawn from",
        ("weights", *found),
        table([f"{low} to {high}" for low, high in WEIGHTS], found),
        (
            Claim("DD is behind where weights are equal", found["OptProfit+DD"][0] < top),
            Claim("DD gains with variance", rise["OptProfit+DD"] > 0 and rise["Basic+DD"] > 0),
            Claim(
                "DD gains more than the others",
                max(rise["OptProfit+DD"], rise["Basic+DD"])
                >= max(each for name, each in rise.items() if not name.endswith("DD")),
            ),
        ),
    )
