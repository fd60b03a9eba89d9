"""E-2, E-3, E-5: window distribute and window split by window size, fast and slow FFT."""

from collections.abc import Iterable, Mapping
from statistics import fmean

from penstock.experiments.scientific.gsdm_cluster import (
    PLANS,
    SAMPLES,
    SIZES,
    SLOWNESS,
    cluster,
    elapsed,
    segment,
)
from penstock.experiments.trial import Effort
from penstock.functions.tuning.prediction import predict
from penstock.functions.tuning.sites import Costs
from penstock.sim.report import Claim, Report

SMALL = 0.03  # the thesis raises the rate until the most loaded node idles for less than this
OFF = 0.02  # of predictions, relative, on average: short segments fill and drain

Found = Mapping[str, Mapping[int, float]]


def flow_fast(seed: int, effort: Effort) -> Report:
    """Run the fast FFT."""
    costs = cluster()
    found = _run(costs, seed, effort)
    wd2, ws2, wd4, ws4, tree = (found[name] for name in ("WD2", "WS2", "WD4", "WS4", "WS4 tree"))
    claims = [
        Claim(
            "E-2: WS2 beats WD2 at all sizes but 256",
            [size for size in SIZES if ws2[size] > wd2[size]] == [256],
        ),
        Claim(
            "E-5: WS4 flat is better than WD4 from 8,192 on, worse below",
            [size for size in SIZES if ws4[size] <= wd4[size]] == [8192, 16384],
        ),
        Claim(
            "E-5: the combination bounds WS4 flat at all sizes",
            all(_bound(costs, "WS4", size) == "combine 0" for size in SIZES),
        ),
        Claim(
            "E-5: WS4 tree is the best of degree 4 above 512",
            all(
                tree[size] < min(wd4[size], ws4[size], found["WD4 tree"][size])
                for size in SIZES
                if size > 512  # noqa: PLR2004
            ),
        ),
        Claim(
            "E-6: at 2,048 WD4 is better, at 8,192 WS4 flat",
            wd4[2048] < ws4[2048] and ws4[8192] <= wd4[8192],
        ),
    ]
    return _report("E-2, E-5: fast FFT", found, [*claims, *_ours(costs, found, seed, effort)])


def flow_slow(seed: int, effort: Effort) -> Report:
    """Run the slow FFT, of which the thesis does not say how slow it is."""
    costs = cluster(SLOWNESS)
    found = _run(costs, seed, effort)
    claims = [*slow_claims(costs, found), *_ours(costs, found, seed, effort)]
    return _report(f"E-2, E-3: FFT {SLOWNESS:g} times as slow", found, claims)


def slow_claims(costs: Costs, found: Found) -> list[Claim]:
    """Return what the thesis says of its slow set."""
    wd4, ws4, tree = (found[name] for name in ("WD4", "WS4", "WS4 tree"))
    large = [size for size in SIZES if size >= 1024]  # noqa: PLR2004
    small = [size for size in SIZES if size < 1024]  # noqa: PLR2004
    return [
        Claim("E-2: WS2 beats WD2 at all sizes", _all_below(found["WS2"], found["WD2"], SIZES)),
        Claim(
            "E-3: branches bound WD4 at all sizes",
            all(_bound(costs, "WD4", size) == "compute 1" for size in SIZES),
        ),
        Claim(
            "E-3: from 1,024 on branches bound WS4 flat, and it beats WD4",
            all(_bound(costs, "WS4", size) == "compute 1" for size in large)
            and _all_below(ws4, wd4, large),
        ),
        Claim(
            "E-3: below 1,024 the combination bounds WS4 flat, its time rises, and WD4 wins",
            all(_bound(costs, "WS4", size) == "combine 0" for size in small)
            and ws4[256] > ws4[512] > ws4[1024]
            and _all_below(wd4, ws4, small),
        ),
        Claim("E-3: WS4 tree is best at 512", tree[512] < min(wd4[512], ws4[512])),
        Claim("E-3: at 256 WS4 tree falls behind WD4, too", tree[256] > wd4[256]),
    ]


def _all_below(less: Mapping[int, float], more: Mapping[int, float], sizes: Iterable[int]) -> bool:
    return all(less[size] < more[size] for size in sizes)


def predicted(costs: Costs) -> Found:
    """Return what the model says of every plan and size, in seconds of the segment."""
    return {
        name: {size: predict(plan, costs, size).seconds * SAMPLES / size for size in SIZES}
        for name, plan in PLANS.items()
    }


def _run(costs: Costs, seed: int, effort: Effort) -> Found:
    return {
        name: {size: elapsed(plan, costs, size, seed, effort) for size in SIZES}
        for name, plan in PLANS.items()
    }


def _bound(costs: Costs, name: str, size: int) -> str:
    return predict(PLANS[name], costs, size).bottleneck


def _ours(costs: Costs, found: Found, seed: int, effort: Effort) -> list[Claim]:
    """Return what we claim: that predictions are close, and that the runs are at their limit."""
    told = predicted(costs)
    off = fmean(abs(told[name][size] / found[name][size] - 1) for name in PLANS for size in SIZES)
    idle = max(
        run.idle for plan in PLANS.values() for run in segment(plan, costs, 1024, seed, effort)
    )
    return [
        Claim(f"ours: predictions are off by {OFF:.0%} on average at most", off <= OFF),
        Claim(f"the busiest site idles for less than {SMALL:.0%} (at 1,024)", idle < SMALL),
    ]


def _report(title: str, found: Found, claims: list[Claim]) -> Report:
    return Report(
        title,
        f"Seconds for {SAMPLES:,} samples of three channels, by the samples a window",
        ("window", *found),
        tuple((f"{size:,}", *(found[name][size] for name in found)) for size in SIZES),
        tuple(claims),
    )
