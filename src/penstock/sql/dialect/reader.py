"""A cursor over one statement's tokens: the few words in which the grammar is written.

It is sqlglot's parser, so that any rule can read a Spark expression where one stands.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn, Self, TypeVar

from sqlglot import Token, TokenType, exp
from sqlglot.parser import SENTINEL_NONE
from sqlglot.parsers.spark import SparkParser

from penstock.errors import PenstockError, SqlError
from penstock.sql.dialect.refusals import (
    RefusedError,
    misspelt,
    near_miss,
    place_at,
    reworded,
    shown,
)

T = TypeVar("T")

# sqlglot reads some nestings twice a level (joins without ON): without a bound, fifty words
# could keep it busy for years. Plain text takes 2 to 20 steps a token.
FREE_STEPS = 20_000
STEPS_A_TOKEN = 200


class TokenReader(SparkParser):
    """sqlglot's Spark parser with our errors, a bound on its work, and a vocabulary for rules."""

    _steps = 0
    _furthest: RefusedError | None = None

    def read(self, tokens: Sequence[Token], text: str, rule: Callable[[Self], T]) -> T:
        """Return what the rule makes of these tokens of `text`; it has to use them all."""
        self.reset()
        self._steps = 0
        self._furthest = None
        self.sql = text
        self._chunks = [list(tokens)]
        self._advance_chunk()
        try:
            result = rule(self)
            if self._curr:
                self.raise_error("")
        except RefusedError as refused:
            raise self._deepest(refused).error from None
        return result

    def read_apart(self, tokens: Sequence[Token], rule: Callable[[Self], T]) -> T:
        """Return what the rule makes of some tokens of the same text, read by themselves."""
        return type(self)(dialect=self.dialect).read(tokens, self.sql, rule)

    def step(self) -> Token:
        """Step over the token under the cursor, and return it."""
        token = self.token
        self._advance()
        return token

    def rest(self) -> list[Token]:
        """Step over all that is left, and return it."""
        tokens = self._tokens[self._index :]
        self._advance(len(tokens))
        return tokens

    @property
    def token(self) -> Token:
        """The token under the cursor; false at the end."""
        return self._curr

    def mark(self) -> int:
        """Return where the cursor stands, for `back_to`."""
        return self._index

    def back_to(self, mark: int) -> None:
        """Put the cursor back, to try another reading."""
        self._retreat(mark)

    def text_from(self, token: Token) -> str:
        """Return the text from a token to the statement's end."""
        return self.sql[token.start : self._tokens[-1].end + 1]

    def sees(self, *words: str) -> bool:
        """Say whether these words or marks come next."""
        return self._match_text_seq(*words, advance=False)

    def accept(self, *words: str) -> bool:
        """Step over these words or marks if they come next."""
        return self._match_text_seq(*words)

    def expect(self, *words: str, hint: str = "") -> None:
        """Step over these words or marks, which have to come next."""
        for word in words:
            if not self.accept(word):
                self.miss(word, hint=near_miss(self.token.text, [word]) or hint)

    def choose(self, *words: str, what: str) -> str:
        """Step over one of these words, and return it."""
        for word in words:
            if self.accept(word):
                return word
        return self.miss(
            what, hint=near_miss(self.token.text, words) or f"one of {', '.join(words)}"
        )

    def name(self, what: str) -> str:
        """Step over a plain or backticked name, and return it."""
        token = self.token
        quoted = token.token_type is TokenType.IDENTIFIER
        if not token or not token.text or not (quoted or token.token_type in self.ID_VAR_TOKENS):
            hint = "a keyword can be a name in backticks" if token and token.text.isalpha() else ""
            self.miss(what, hint=hint)
        self._advance()
        return token.text

    def word(self, what: str, *, hint: str = "") -> str:
        """Step over any word, keywords too, where only a name can stand; return it."""
        token = self.token
        quoted = token.token_type is TokenType.IDENTIFIER
        bare = token.token_type not in self.TEXT_MATCH_EXCLUDED_TOKENS and token.text.isidentifier()
        if not token or not token.text or not (quoted or bare):
            self.miss(what, hint=hint)
        self._advance()
        return token.text

    def number(self) -> str | None:
        """Step over a number with its sign and return it as text, or None where none stands."""
        start = self.mark()
        sign = "-" if self.accept("-") else ""
        if not sign:
            self.accept("+")
        point = "0." if self.accept(".") else ""
        if self.token.token_type is not TokenType.NUMBER:
            self.back_to(start)
            return None
        self._advance()
        return f"{sign}{point}{self._prev.text}"

    def string(self) -> str | None:
        """Step over a string literal and return it, or None where none stands."""
        if self.token.token_type not in (TokenType.STRING, TokenType.RAW_STRING):
            return None
        self._advance()
        return self._prev.text

    def value(self, what: str) -> exp.Expr:
        """Read a Spark expression."""
        return self._parse_disjunction() or self.miss(what)

    def miss(self, what: str, *, hint: str = "") -> NoReturn:
        """Refuse the token under the cursor, where something else has to stand."""
        self.fail(f"expected {what} but found {shown(self.sql, self.token)}", hint=hint)

    def fail(self, message: str, *, hint: str = "", token: Token | None = None) -> NoReturn:
        """Raise a SqlError at the token, or under the cursor; no other reading is tried."""
        raise SqlError(message, hint=hint, place=place_at(self.sql, self._offset(token)))

    @contextmanager
    def placed(self, token: Token) -> Iterator[None]:
        """Give errors that know no place in this text the token's."""
        try:
            yield
        except PenstockError as error:
            if error.place is None or not error.place.source:
                error.place = place_at(self.sql, self._offset(token))
            raise

    def raise_error(self, message: str, token: Token = SENTINEL_NONE) -> None:
        """Refuse as sqlglot does, in our words; it may try another reading."""
        token = token or self._curr
        hint, token = misspelt(token, self._prev)
        offset = self._offset(token)
        said = reworded(message, shown(self.sql, token))
        error = SqlError(said, hint=hint, place=place_at(self.sql, offset))
        refused = RefusedError(error, offset)
        if self._furthest is None or offset > self._furthest.offset:
            self._furthest = refused
        raise refused

    def _deepest(self, refused: RefusedError) -> RefusedError:
        """Return the refusal that got furthest, also where sqlglot then tried another reading."""
        return max(refused, self._furthest or refused, key=lambda one: one.offset)

    def _advance(self, times: int = 1) -> None:
        self._steps += 1
        if self._steps > FREE_STEPS + STEPS_A_TOKEN * len(self._tokens):
            self.fail("too tangled to parse", hint="split the statement, or nest it less")
        super()._advance(times)

    def _offset(self, token: Token | None) -> int:
        """Return where the token stands, or where the tokens end."""
        token = token or self._curr
        return token.start if token else self._tokens[-1].end + 1 if self._tokens else 0
