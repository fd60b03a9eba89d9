"""A flow as it is written: names of templates and functions, applied to each other."""

from dataclasses import dataclass

from penstock.errors import Place


@dataclass(frozen=True, slots=True)
class Term:
    """A name and what it is applied to, such as `pcc(4, rr_part, fft3, s_merge(timeout => 0.1))`.

    Arguments are terms, literals or tuples of numbers; a text `#` is the number of the branch.
    """

    name: str
    arguments: tuple["Value", ...] = ()
    named: tuple[tuple[str, "Value"], ...] = ()
    place: Place | None = None

    def __str__(self) -> str:
        """Return the term as it is written."""
        parts = [_shown(each) for each in self.arguments]
        parts += [f"{name} => {_shown(value)}" for name, value in self.named]
        return f"{self.name}({', '.join(parts)})" if parts else self.name


def _shown(value: "Value") -> str:
    match value:
        case Term():
            return str(value)
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case str():
            return "#" if value == "#" else "'" + value.replace("'", "''") + "'"
        case tuple():
            return f"({', '.join(map(_shown, value))}{',' if len(value) == 1 else ''})"
        case _:
            return repr(value)


Value = Term | int | float | str | bool | None | tuple[int | float, ...]
