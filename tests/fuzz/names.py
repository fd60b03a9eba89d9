"""Names for columns, streams, queries and aliases: the ones that generated SQL might trip over."""

import random
import re

SHORT = (
    *"abcdeghijklmnopqstuvwxyz",
    *("a0", "a1", "k0", "k1", "c0", "_1", "_c0", "acc", "input", "key", "value", "id", "row"),
    *(
        "col",
        "start",
        "pane",
        "part",
        "number",
        "rank",
        "weight",
        "element",
        "entry",
        "item",
        "src",
    ),
    *("left_", "right_", "count", "sum", "first", "name", "bucket", "emitted", "late", "rejects"),
)
KEYWORDS = (
    *("select", "from", "where", "group", "order", "by", "table", "join", "on", "end", "begin"),
    *("range", "rows", "slide", "timestamp", "interval", "date", "null", "true", "over", "having"),
    *("partition", "limit", "case", "when", "then", "and", "or", "not", "in", "is", "as", "using"),
    *("stream", "query", "window", "session", "landmark", "every", "gap", "distinct", "all"),
    *("union", "except", "qualify", "filter", "values", "lateral", "cross", "left", "with"),
)
ODD = (
    *("a b", "a.b", "a`b", "ü", "Ünï", "列", "A-B", "1x", "it's", '"q"', "{0}", "%s", "$s", "\\n"),
    *("a;b", "[r]", "--", "/*", "*", "a,b", "(x)", "?", ":p", "=>", "😀", " x", "x ", "a..b"),
)
SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def draw_names(chance: random.Random, count: int, taken: set[str] | None = None) -> list[str]:
    """Return so many names, all different and none taken, whatever their case."""
    used = {name.lower() for name in taken or ()}
    found: list[str] = []
    while len(found) < count:
        pool = chance.choices((SHORT, KEYWORDS, ODD), (6, 2, 2))[0]
        name = chance.choice(pool)
        if len(used) > len(SHORT) // 2 or chance.random() < 0.1:
            name += str(chance.randrange(100))
        if chance.random() < 0.1:
            name = name.upper()
        if name.lower() not in used:
            used.add(name.lower())
            found.append(name)
    return found


def written(chance: random.Random, name: str) -> str:
    """Return a name as SQL text: in backticks where it must be, and sometimes where it need not."""
    if SIMPLE.fullmatch(name) and name.lower() not in KEYWORDS:
        if chance.random() < 0.1:
            name = name.swapcase()
        if chance.random() < 0.7:
            return name
    return "`" + name.replace("`", "``") + "`"
