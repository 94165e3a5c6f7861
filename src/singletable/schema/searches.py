"""Searches by words: `@table.search` on a function of a scope and a text, whose words are found by their beginnings.

    @crm.search
    @staticmethod
    def by_word(tenant: str, name: str) -> Key:
        return f"{tenant}", f"{name:words(8)}"

    db.page(Customer.by_word("t1", starting_with("lov ad")), limit=10)      # Ada Lovelace

Each word of an item is an item attached to it (`word_items`), which each write keeps in its own transaction: the first
different words of a text, up to a limit. A query reads the entries of its longest word, then the items, and returns
items with all of its words, each once: at the entry of its first word in the range.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from typing import Any, ClassVar, NoReturn, cast

from singletable.errors import DeclarationError, InvalidRequest, InvalidValue
from singletable.schema.bound_patterns import Declared
from singletable.schema.capture import ANY, capture_search, type_in_key
from singletable.schema.key_bounds import Range
from singletable.schema.key_shapes import KeyShape
from singletable.schema.key_text import MAX_PARTITION_BYTES, WORD_TYPE, KeyPart, Slot, Template
from singletable.schema.patterns import Answers, Captured, E_co, P, Query
from singletable.values import MOST_WORDS, TOP, USUAL_WORDS, WordsText, name_owner, words_in

Entry = tuple[str, str]
"""A word, after the partition key of its item."""
_SLOT = re.compile(r"\0([^:\0]+):words(?:\(([1-9][0-9]?)\))?\0")
_HINT = 'As in: return f"{tenant}", f"{name:words(8)}"'


class SearchQuery(Query[E_co], frozen=True, gc=False):
    """The items that have some words, in the order of the first one in which they are found."""

    answers: ClassVar[Answers] = "items by word"
    has_parts: ClassVar[bool] = True
    terms: tuple[str, ...] = ("",)
    """The folded words that are asked for, the longest first."""
    by_beginning: bool = True
    """Whether a word is met by its beginning."""

    @property
    def search(self) -> SearchPattern:
        """Its pattern."""
        return cast("SearchPattern", self.captured)

    def shows(self, entity: Any, word: str) -> bool:
        """Whether an item is given at one of its words: at the first that meets the first term, if it has them all."""
        words = [own for partition, own in self.search.entries_of(entity) if partition == self.partition]
        near = [own for own in words if self._is_met(self.terms[0], own)]
        return word == min(near, default="") and all(any(self._is_met(t, own) for own in words) for t in self.terms)

    def _is_met(self, term: str, word: str) -> bool:
        return word.startswith(term) if self.by_beginning else word == term

    def where(self, condition: Any) -> NoReturn:
        raise self._refused("where(...)")

    def only(self, *attributes: Any) -> NoReturn:
        raise self._refused("only(...)")

    def keys(self) -> NoReturn:
        raise self._refused("keys()")

    def hydrated(self) -> NoReturn:
        raise self._refused("hydrated()")

    def also(self, kind: type[Any]) -> NoReturn:
        raise self._refused("also(...)")

    def _refused(self, what: str) -> InvalidRequest:
        return InvalidRequest(
            f"{self.captured.shown}: {what} is not for a search, which reads whole items by their words",
            hint="Choose among the items in your program.",
        )


class SearchPattern(Captured, frozen=True, eq=False, dict=True):
    """A search on one class: the template of its scope, and the text whose words are found."""

    is_search: ClassVar[bool] = True

    @property
    def text_name(self) -> str:
        """The attribute whose words are found."""
        return self.templates[1].names[0]

    @property
    def most(self) -> int:
        """The limit of words of one text."""
        return self.words.most

    @property
    def words(self) -> WordsText:
        """The form of its text."""
        ((_, slot),) = self.templates[1].segments
        assert slot is not None
        assert isinstance(slot.key_type, WordsText)
        return slot.key_type

    def entries_of(self, entity: Any) -> tuple[Entry, ...]:
        """An item's words, each once, with the partition that they are in; none where an attribute of the scope has no
        value. InvalidValue for a scope that makes no key."""
        scope, text = self.templates[0], getattr(entity, self.text_name)
        if text is None or any(getattr(entity, name) is None for name in scope.names):
            return ()
        partition = self._partition(scope.write_of(entity))
        return tuple((partition, word) for word in words_in(text, scope.separator)[: self.most])

    def _partition(self, scope: str) -> str:
        values = {"type": self.model.type, "search": self.name, "scope": scope}
        return partition_template(self.templates[0].separator).write(values)

    def query(self, result: type[Query[Any]], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        given = self._bind(args, kwargs)
        asked = given.pop(self.text_name)
        by_beginning = asked is ANY or isinstance(asked, Range)
        try:
            text = self._checked(asked.low if isinstance(asked, Range) else asked, given, asked)
            partition = self._partition(self.templates[0].write(given))
        except InvalidValue as error:
            error.operation = error.operation or self.shown
            name_owner(error, self.owner)
            raise
        separator = self.templates[0].separator
        terms = tuple(sorted(words_in(text, separator), key=len, reverse=True)) or ("",)
        low, mark = f"{WORD_TYPE}{separator}{terms[0]}", "" if by_beginning else separator
        place = partition, low + mark, low + mark + TOP, 1
        asked_for: SearchQuery[Any] = SearchQuery(
            (self.owner,), self, *place, terms=terms, by_beginning=by_beginning or not terms[0]
        )
        return asked_for

    def direct(self, result: type[Query[Any]]) -> Callable[..., Any]:
        return lambda *args: self.query(result, args, {})

    def _checked(self, text: Any, scope: Mapping[str, Any], asked: Any) -> str:
        """The text that is asked for. InvalidRequest for a range of texts, and for several scopes."""
        several = next((name for name, value in scope.items() if value is ANY or isinstance(value, Range)), None)
        if several is not None:
            raise InvalidRequest(
                f"{self.shown}: {several} is the scope of the search, which takes one value",
                hint="Search each scope by itself, or declare a search with a wider one.",
            )
        if isinstance(asked, Range) and asked.how != "starting_with":
            raise InvalidRequest(
                f"{self.shown}: words of {self.text_name} are asked for by {asked.how}(), and have no order",
                hint="Ask for whole words, or for their beginnings: starting_with().",
            )
        return "" if text is ANY else self.words.asked(self.text_name, text)


class DeclaredSearch(Declared[P]):
    """The object that `@app.search` leaves in the class body."""

    pattern = SearchPattern

    def __init__(self, function: Callable[P, Any]) -> None:
        super().__init__(function, None)

    def capture(
        self, types: Mapping[str, Any], separator: str, where: str, shape: KeyShape | None = None
    ) -> tuple[tuple[Template, Template], inspect.Signature]:
        return capture_search(self.function, types, separator, where, _words_slot), inspect.signature(self.function)


def _words_slot(text: str, types: Mapping[str, Any], where: str) -> Slot:
    """The place of a text in the second part of a search. DeclarationError for what is none."""
    match = _SLOT.fullmatch(text)
    most = int(match[2] or USUAL_WORDS) if match else 0
    if match is None or not 1 <= most <= MOST_WORDS or type_in_key(types[match[1]]) is not str:
        raise DeclarationError(
            f"{where}: a search returns its scope, and the words of one text, 1 to {MOST_WORDS} of them", hint=_HINT
        )
    return Slot(match[1], WordsText(str, most))


@cache
def partition_template(separator: str) -> Template:
    """The template of the partition keys of words."""
    scope = KeyPart("", Slot.of("scope", str, "rest"))
    names = (KeyPart("", Slot.of(name, str)) for name in ("type", "search"))
    return Template((KeyPart(WORD_TYPE), *names, scope), separator, limit=MAX_PARTITION_BYTES)


def digest_of(owner: tuple[str, str]) -> str:
    """A short text of an item's key, which ends the keys of its words."""
    return blake2b("\0".join(owner).encode(), digest_size=12).hexdigest()
