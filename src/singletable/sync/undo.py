"""Undo and redo: edits that are taken back where they still stand, and nowhere else.

    @Project.mutation
    def revise(draft: Draft[Project], *, edits: list[Edit]) -> None:
        revise_draft(draft, edits)

A client notes what each of its mutations changed, as edits: the key of the client view, what it was and what it became,
of an object only the attributes that differ. To undo it sends the edits the other way round. Each attribute is set back
if it is what the client left there; one that somebody else has changed since stays theirs. So an undo never undoes
another client's edit, wherever and in whatever order it is applied. A redo is the undo of an undo.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from singletable.documents import Document
from singletable.documents.inspect import canonical, document_model
from singletable.errors import InvalidValue
from singletable.sync.strict_json import is_list, is_object


@dataclass(frozen=True)
class Edit:
    """One change to make of one key of the client view."""

    key: str = field(repr=False)
    """`shapes/s1`, or the document's word in lower case for its scalars."""
    was: Any = field(default=None, repr=False)
    """The value that must be stored: of an object, the attributes that change and must exist. None: no item."""
    to: Any = field(default=None, repr=False)
    """The new value: those attributes, without the removed ones. None: no item."""


def revise_draft(draft: Document, edits: Sequence[Edit]) -> list[str]:
    """Make the edits whose items are unchanged. Returns the keys of items that were kept in part or whole.

    Of an item that is there before and after, each attribute is compared by itself. One that an edit makes must be
    missing, one that it removes must be as a whole what it was. InvalidValue for a key of no collection.
    """
    return [edit.key for edit in edits if not _revise(draft, edit)]


def _revise(draft: Any, edit: Edit) -> bool:
    """Whether all of it could be made."""
    model = document_model(draft.__class__)
    name, slash, id = edit.key.partition("/")
    if not slash and name == model.words.document.lower():
        return _revise_scalars(draft, edit)
    if not slash or name not in model.collections:
        raise InvalidValue(f"{edit.key!r} is not a key of a {type(draft).__name__}", attribute="key")
    items, codec = getattr(draft, name), model.collections[name].codec
    now = msgspec.json.decode(codec.json_of(codec.encode(items[id]))) if id in items else None
    becomes, is_whole = revised(now, edit)
    if becomes is None and now is not None:
        del items[id]
    elif becomes is not None and not same(becomes, now):
        items[id] = codec.decode_json(canonical(becomes))
    return is_whole


def _revise_scalars(draft: Any, edit: Edit) -> bool:
    names = document_model(draft.__class__).scalars.by_name
    now = {name: getattr(draft, name) for name in names}
    becomes, is_whole = revised(now, edit)
    values: dict[str, Any] = becomes if is_object(becomes) else {}
    for name, value in values.items():
        if name not in names:
            raise InvalidValue(f"a {type(draft).__name__} has no scalar {name!r}", attribute="key")
        if not same(now[name], value):
            setattr(draft, name, value)
    return is_whole


def revised(now: Any, edit: Edit) -> tuple[Any, bool]:
    """The item after an edit, and whether the edit applied completely."""
    if not (is_object(now) and is_object(edit.was) and is_object(edit.to)):
        return (edit.to, True) if same(now, edit.was) else (now, False)
    values, is_whole = dict(now), True
    for name in {**edit.was, **edit.to}:
        if name in now and name in edit.was:
            stands = same(now[name], edit.was[name])
        else:
            stands = name not in now and name not in edit.was
        if not stands:
            is_whole = False
        elif name in edit.to:
            values[name] = edit.to[name]
        else:
            values.pop(name, None)
    return values, is_whole


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON: 1 and 1.0 are, True and 1 are not."""
    if is_object(one) and is_object(other):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if is_list(one) and is_list(other):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
