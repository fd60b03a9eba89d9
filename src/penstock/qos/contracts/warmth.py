"""Warmth: from when on a contract counts.

The first answers of a process or a query wait for Java to load and compile what makes them, once.
Nobody's promise is about that; it is about the time in which the system runs.
"""

WARM_ANSWERS = 10  # the first runs of a plan are compiled; later ones cost what they will cost
WARM_SECONDS = 15.0  # Java's compilers are busy with the code that all queries share
MOST_SECONDS = 60.0  # after which also a query counts that seldom answers


def is_warm(answers: int, seconds: float) -> bool:
    """Say whether a query is warm that gave so many answers, its first so many seconds ago."""
    return seconds >= MOST_SECONDS or (seconds >= WARM_SECONDS and answers >= WARM_ANSWERS)
