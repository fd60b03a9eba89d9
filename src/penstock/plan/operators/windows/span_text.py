"""Lengths of time in an operator's text."""


def span_text(micros: int) -> str:
    """Return a length of time to the microsecond: two lengths never look the same."""
    whole, rest = divmod(micros, 1_000_000)
    return f"{whole}.{rest:06d}".rstrip("0").rstrip(".") + " s"
