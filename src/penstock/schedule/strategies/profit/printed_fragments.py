"""Fragments as the thesis prints them (TIME-27, Algorithms 3 to 5), for its experiments only.

It looks at a parent and one child at a time and so misses what several children are worth together
(defect C10). Parents that Algorithm 5 would leave dangling are mended (C5): without, nothing runs.
"""

from penstock.schedule.costs.fragments import Forest, Fragment


def printed_fragments(forest: Forest) -> list[Fragment]:
    """Return the fragments in the order in which the printed algorithm finds them.

    Jobs that earn nothing for anybody come last, so that every job has its place.
    """
    groups = {name: Fragment((name,), job.seconds, job.profit) for name, job in forest.items()}
    parents = {name: job.parent for name, job in forest.items()}
    found: list[Fragment] = []
    while any(group.profit > 0 for group in groups.values()):
        chosen = _chosen(groups, parents)
        above = parents[chosen]
        group = groups.pop(chosen)
        for name, parent in parents.items():
            if parent == chosen:
                parents[name] = above
        if above is None:
            found.append(group)
        else:
            groups[above] = groups[above].then(group)
    return [*found, *groups.values()]


def _chosen(groups: dict[str, Fragment], parents: dict[str, str | None]) -> str:
    """Return the root or the child that Algorithm 4 takes."""
    best, chosen = 0.0, ""
    profitable = [name for name, group in groups.items() if group.profit > 0]
    for name in sorted(profitable, key=lambda each: (-groups[each].density, each)):
        if groups[name].density <= best:
            break
        above = parents[name]
        group = groups[name] if above is None else groups[above].then(groups[name])
        if group.density > best:
            best, chosen = group.density, name
    return chosen
