"""Keys that were others: what is found, moved and listed, for every text and number."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unicodedata import is_normalized

from hypothesis import given, strategies as st

from singletable import ANY, Entity, Key, Table
from singletable.operations import Item
from singletable.records.moves import move_of, own
from singletable.schema.models import model_of

texts = st.text(st.characters(codec="utf-8", exclude_categories=("Cs", "Cc", "Cn")), max_size=12)
plain = Table("moves")


def old_note(owner: str, number: int, title: str) -> Key:
    """Where notes lay."""
    return f"owner#{owner}", f"{number}#{title}"


class Note(Entity, table=plain, type="note"):
    owner: str
    tenant: str
    number: int
    title: str
    text: str | None = None

    @plain.key(was=old_note)
    @staticmethod
    def of_owner(owner: str, tenant: str, number: int = ANY, title: str = ANY) -> Key:
        """An owner's notes."""
        return f"tenant#{tenant}#{owner}", f"note#{number:08}#{title}"


MODEL = model_of(Note)
identifiers = texts.filter(lambda text: is_normalized("NFC", text))
notes = st.builds(
    Note, owner=identifiers, tenant=identifiers, number=st.integers(0, 99_999_999), title=identifiers, text=texts
)


def at_old(note: Note) -> Item:
    """The item as the older program stored it."""
    key = MODEL.key_of(note)
    return {**MODEL.item(note), **MODEL.key_item(MODEL.old_key(key))}


@given(notes)
def test_an_item_is_moved_whole(note: Note) -> None:
    stored: Any = {**at_old(note), "undeclared": {"M": {"x": {"B": "AAE="}}}}
    move = move_of(MODEL, stored, 0.0)
    assert move is not None
    assert move.puts[0].item == {**MODEL.item(note), "undeclared": stored["undeclared"]}
    assert MODEL.key_item(move.old) == {name: stored[name] for name in MODEL.key_attributes}
    assert MODEL.load(move.puts[0].item) == MODEL.load(stored) == note
    assert move_of(MODEL, move.puts[0].item, 0.0) is None


@given(notes, notes)
def test_an_item_belongs_to_one_key(one: Note, other: Note) -> None:
    found = own(MODEL, MODEL.key_of(other), at_old(one))
    assert (found is not None) == (MODEL.place_of(one) == MODEL.place_of(other))


@given(st.lists(notes, max_size=6))
def test_both_keys_have_one_order(several: list[Note]) -> None:
    """Of the items of one partition: pages of the two are merged by it."""
    same = [replace(note, owner="o", tenant="t") for note in several]
    by_new = sorted(same, key=lambda note: MODEL.place_of(note)[1].encode())
    by_old = sorted(same, key=lambda note: MODEL.old_key(MODEL.key_of(note)).low.encode())
    assert [MODEL.place_of(n) for n in by_new] == [MODEL.place_of(n) for n in by_old]
