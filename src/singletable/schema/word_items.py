"""Words: the items by which a search finds others, written in the same transaction as their owner.

    pk  _word#<type>#<search>#<scope>      sk  _word#<word>#<digest of the owner's key>
    _type "_word"   owner, owner_sort: the key of the item that has the word   (and the same TTL)

No query of another class returns one: in a table with a search no other class may have such a key or type.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from singletable.schema.declaration import WRITE_VERBS, Special
from singletable.schema.entities import Entity, field
from singletable.schema.guard_items import ValueText
from singletable.schema.models import Model, model_of
from singletable.schema.patterns import KeyOf, Query
from singletable.schema.searches import SearchPattern, SearchQuery, digest_of
from singletable.schema.system_items import KeyParts, system_key
from singletable.schema.table import WORD_TYPE, Table
from singletable.values import TEXT, Field

_IN_KEY = ("type", "search", "scope", "word", "digest")
_WRITERS = "The words of an item are written with it."


class Word(Entity):
    """One word of an item. It is in its key only; its attributes name the owner."""

    type: str
    search: str
    scope: ValueText = field(personal=True)
    word: str = field(personal=True)
    digest: str
    owner: str
    owner_sort: str

    @classmethod
    def __special__(cls, table: Table, type: str) -> Special:
        in_key = {name: Field(name, f"{WORD_TYPE} {name}", TEXT, is_written=False) for name in _IN_KEY}
        return Special(fields=in_key, refuses=dict.fromkeys(WRITE_VERBS, _WRITERS), is_admitted=False)


@cache
def words_of(table: Table) -> type[Any]:
    """The entity of a table's words."""

    class SearchWord(Word, table=table, type=WORD_TYPE):
        @system_key(table)
        @staticmethod
        def of_scope(type: str, search: str, scope: ValueText, word: str, digest: str) -> KeyParts:
            """The words of a search in a scope, with their owners' keys."""
            return (WORD_TYPE, f"{type}", f"{search}", f"{scope}"), (WORD_TYPE, f"{word:raw}", f"{digest}")

    return SearchWord


def word_keys(
    model: Model[Any], search: SearchPattern, owner: KeyOf[Any], entity: Any
) -> dict[tuple[str, str], KeyOf[Any]]:
    """The keys of an item's words, by their texts. Raises InvalidValue for a scope that makes no key."""
    entries: Model[Any] = model_of(words_of(model.table))
    sort, digest = entries.key.templates[1], digest_of((owner.partition, owner.low))
    places = (
        (partition, sort.write({"word": word, "digest": digest})) for partition, word in search.entries_of(entity)
    )
    return {place: entries.key_at(place) for place in places}


def word_prefix(model: Model[Any], search: str) -> str:
    """The prefix of the partition keys of all words of a search."""
    entries = model_of(words_of(model.table))
    return entries.key.templates[0].prefix({"type": model.type, "search": search})


def worded_search(table: Table, partition: str) -> tuple[str, str] | None:
    """The type of the item that has a word, and the search's name, by the partition key of the word."""
    values = model_of(words_of(table)).key.templates[0].read(partition)
    return None if values is None else (str(values["type"]), str(values["search"]))


def entries(search: SearchQuery[Any]) -> Query[Any]:
    """The query of the words that meet the first term of a search."""
    words = words_of(search.model.table)
    place = search.partition, search.low, search.high, search.bound
    return Query((words,), model_of(words).key, *place, descending=search.descending, strong=search.strong)
