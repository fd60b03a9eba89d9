"""Random expressions and aggregates that Spark and Penstock write alike, over given columns."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.e2e.oracle.queries import Both, same
from tests.fuzz.columns import NUMBERS, ORDERED, TEXTS, Field, draw_literal, literal, sum_type

OPERATORS = ("=", "<=>", *("<>", "<", "<=", ">", ">=") * 2)
A_NUMBER = Field("", "INT", "int", calm=True)
A_TEXT = Field("", "STRING", "text", calm=True)


@dataclass(frozen=True)
class Ref:
    """A column as a query writes it."""

    text: str
    of: Field

    @property
    def family(self) -> str:
        return self.of.family

    @property
    def is_calm(self) -> bool:
        return self.of.calm

    def moved(self, text: str) -> "Ref":
        """Return the same column under another text."""
        return Ref(text, self.of)


@dataclass(frozen=True)
class Expressions:
    """Draws expressions over columns; `time` is what first and last go by."""

    chance: random.Random
    refs: Sequence[Ref]
    time: str = ""
    calm: list[Ref] = field(init=False)

    def __post_init__(self) -> None:
        usable = [ref for ref in self.refs if ref.is_calm and ref.family in NUMBERS]
        object.__setattr__(self, "calm", usable)

    def of(self, *families: str, calm: bool = False) -> list[Ref]:
        """Return the columns of some families."""
        return [r for r in self.refs if r.family in families and (r.is_calm or not calm)]

    # -- values --------------------------------------------------------------------------

    def value(self) -> tuple[str, Field]:
        """Draw any expression, and what its type can be used for."""
        draw = self.chance.random()
        if draw < 0.55 or not self.refs:
            ref = self.chance.choice(self.refs)
            return ref.text, ref.of
        if draw < 0.75:
            return self.number(), Field("", "BIGINT", "int", calm=True)
        if draw < 0.9:
            return self.text(), A_TEXT
        return f"({self.flag()})", Field("", "BOOLEAN", "flag", calm=True)

    def number(self, depth: int = 0) -> str:
        """Draw a BIGINT that stays small."""
        whole = [r for r in self.calm if r.family == "int"]
        forms = [str(self.chance.randrange(-9, 10)), f"length({self.text(2)})"]
        if whole:
            forms += [f"CAST({self.chance.choice(whole).text} AS BIGINT)"] * 3
        if depth < 2:
            one, two = self.number(depth + 2), self.number(depth + 2)
            forms += [
                f"({one} + {two})",
                f"({one} - {two})",
                f"{one} * {self.chance.randrange(4)}",
                f"abs({one})",
                f"coalesce({one}, -1)",
                f"CASE WHEN {self.flag(2)} THEN {one} ELSE {two} END",
                f"if({self.flag(2)}, {one}, {two})",
                f"{one} % 3",
            ]
        return self.chance.choice(forms)

    def text(self, depth: int = 0) -> str:
        """Draw a STRING."""
        texts = self.of("text")
        forms = [literal(self.chance.choice(TEXTS), A_TEXT)]
        if texts:
            ref = self.chance.choice(texts).text
            forms += [ref, ref, f"upper({ref})", f"coalesce({ref}, 'none')", f"({ref} || 'z')"]
            forms += [f"substring({ref}, 1, 1)", f"concat({ref}, '-', {ref})", f"trim({ref})"]
        if depth < 2:
            forms.append(f"CAST({self.number(depth + 1)} AS STRING)")
        return self.chance.choice(forms)

    def flag(self, depth: int = 0) -> str:
        """Draw a condition."""
        if depth < 2 and self.chance.random() < 0.25:
            one, two = self.flag(depth + 1), self.flag(depth + 1)
            forms = (f"{one} AND {two}", f"({one} OR {two})", f"NOT ({one})", f"({one}) AND {two}")
            return self.chance.choice(forms)
        return self._plain_flag()

    def _plain_flag(self) -> str:
        draw = self.chance.random()
        flags, texts = self.of("flag"), self.of("text")
        if draw < 0.08 and flags:
            return self.chance.choice(("", "NOT ")) + self.chance.choice(flags).text
        if draw < 0.16 and texts:
            return f"{self.chance.choice(texts).text} LIKE '{self.chance.choice('aBx%')}%'"
        if draw < 0.26 and self.calm:
            one, two = self.chance.choice(self.calm), self.chance.choice(self.calm)
            return f"{one.text} {self.chance.choice(OPERATORS)} {two.text}"
        ref = self._ordered()
        if ref is None:
            return f"{self.number(2)} > 0"
        return self._compared(ref)

    def _compared(self, ref: Ref) -> str:
        negated = self.chance.choice(("", "", "NOT "))
        match self.chance.randrange(8):
            case 0:
                return f"{ref.text} IS {negated}NULL"
            case 1:
                among = ", ".join(draw_literal(self.chance, ref.of) for _ in range(3))
                return f"{ref.text} {negated}IN ({among})"
            case 2:
                low, high = draw_literal(self.chance, ref.of), draw_literal(self.chance, ref.of)
                return f"{ref.text} {negated}BETWEEN {low} AND {high}"
            case 3:
                operator = self.chance.choice(OPERATORS)
                return f"{draw_literal(self.chance, ref.of)} {operator} {ref.text}"
            case _:
                operator = self.chance.choice(OPERATORS)
                return f"{ref.text} {operator} {draw_literal(self.chance, ref.of)}"

    def _ordered(self) -> Ref | None:
        found = self.of(*ORDERED)
        return self.chance.choice(found) if found else None

    # -- aggregates ----------------------------------------------------------------------

    def keys(self, most: int = 2) -> list[tuple[str, Field]]:
        """Draw what to group by."""
        found: dict[str, Field] = {}
        for _ in range(self.chance.randrange(most + 1)):
            text, of = self.value()
            groupable = text.strip("(-0123456789)") and not text.startswith("'")
            if groupable and of.family != "list":
                found[text] = of
        return list(found.items())

    def aggregate(self) -> tuple[Both, Field]:
        """Draw an aggregate call, perhaps with a filter."""
        where = self.flag(1) if self.chance.random() < 0.25 else None
        draw = self.chance.random()
        if draw < 0.12 and self.time and (ref := self._ordered()):
            return self._by_time(ref, where), ref.of
        if draw < 0.2 and (ref := self._ordered()) and (by := self._ordered()):
            name = self.chance.choice(("min_by", "max_by"))
            known = _filter(
                f"({where}) AND {by.text} IS NOT NULL" if where else f"{by.text} IS NOT NULL"
            )
            stream = f"{name}({ref.text}, {by.text}){_filter(where)}"
            return Both(stream, f"{name}({ref.text}, struct({by.text}, {ref.text})){known}"), ref.of
        text, of = self._call()
        is_composed = text.startswith(("sort_array", "CASE")) or " / " in text
        return same(text if is_composed else f"{text}{_filter(where)}"), of

    def _by_time(self, ref: Ref, where: str | None) -> Both:
        name, by = self.chance.choice((("first", "min_by"), ("last", "max_by")))
        value = f"{by}({ref.text}, struct({self.time}, {ref.text}))"
        if self.chance.random() < 0.4:
            known = f"{ref.text} IS NOT NULL"
            kept = _filter(f"({where}) AND {known}" if where else known)
            return Both(f"{name}({ref.text}, true){_filter(where)}", f"{value}{kept}")
        return Both(f"{name}({ref.text}){_filter(where)}", f"{value}{_filter(where)}")

    def _call(self) -> tuple[str, Field]:
        big = Field("", "BIGINT", "int", calm=False)
        forms: list[tuple[str, Field]] = [("count(*)", A_NUMBER)] * 2
        any_ = self.chance.choice(self.refs)
        forms += [(f"count({any_.text})", A_NUMBER), (f"count_if({self.flag(1)})", A_NUMBER)]
        if ref := self._ordered():
            name = self.chance.choice(("min", "max"))
            forms += [(f"{name}({ref.text})", ref.of)] * 3
            forms += [(f"count(DISTINCT {ref.text})", A_NUMBER)]
        if self.calm:
            forms += self._figures(self.chance.choice(self.calm))
        if whole := self.of("int"):
            name = self.chance.choice(("bit_and", "bit_or", "bit_xor"))
            forms.append((f"{name}({self.chance.choice(whole).text})", big))
        if flags := self.of("flag"):
            name = self.chance.choice(("bool_and", "bool_or", "every", "some"))
            forms.append(
                (f"{name}({self.chance.choice(flags).text})", Field("", "BOOLEAN", "flag", True))
            )
        if texts := self.of("text"):
            ref = self.chance.choice(texts)
            listed = Field("", "ARRAY<STRING>", "list", calm=False)
            name = self.chance.choice(("collect_list", "collect_set"))
            forms.append((f"sort_array({name}({ref.text}))", listed))
        forms.append((f"sum({self.number()})", A_NUMBER))
        forms.append(("CASE WHEN count(*) > 3 THEN 'many' ELSE 'few' END", A_TEXT))
        return self.chance.choice(forms)

    def _figures(self, ref: Ref) -> list[tuple[str, Field]]:
        double = Field("", "DOUBLE", "float", calm=False)
        summed = Field("", sum_type(ref.of), ref.family, calm=False)
        name = self.chance.choice(("var_pop", "var_samp", "stddev", "stddev_pop", "median"))
        return [
            *[(f"sum({ref.text})", summed), (f"avg({ref.text})", double)] * 2,
            (f"{name}({ref.text})", double),
            (f"sum(DISTINCT {ref.text})", summed),
            (f"sum({ref.text}) / count(*)", double),
        ]


def _filter(where: str | None) -> str:
    return f" FILTER (WHERE {where})" if where else ""
