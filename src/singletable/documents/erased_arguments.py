"""Contents, arguments and scalars of documents without the persons that an erasure erases."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from singletable.documents.arguments import Row, refs_in
from singletable.documents.canonical_json import canonical, digest_of
from singletable.documents.collections import CollectionModel
from singletable.documents.contents import ARGUMENTS, Content, Contents
from singletable.documents.context import Context
from singletable.documents.document import DocumentModel
from singletable.documents.own_mutations import with_scalars
from singletable.documents.personal import Erased, no_empty_value, personal_texts, texts_in
from singletable.documents.rows import MutationRecord
from singletable.documents.snapshots import as_stored
from singletable.documents.submission import MAX_INLINE_BYTES
from singletable.errors import Corrupt, InvalidValue, SingletableError
from singletable.foundation import ERASED
from singletable.values import AttributeValue, Field, from_attribute_value, writer_of

NONE = "{}"
OF_NOBODY = {
    "name": "$erased",
    "principal": None,
    "arguments": NONE,
    "arguments_blob": None,
    "refers": None,
    "own": None,
}
"""The attributes of a waiting mutation of theirs: it will be rejected, as no mutator has that name, and its id is
consumed. Without the id, whatever comes after it from the same client, which others may share, could never be applied.
"""


def arguments_without(context: Context[Any], erased: Erased, name: str, arguments: str, *, own: bool) -> str:
    """A mutation's arguments without erased persons; `own` of a mutation of theirs.

    Without any, where it is theirs and this program can't tell what in them is personal.
    """
    if name.startswith("$"):
        return with_scalars(name, arguments, partial(scalars_without, context, erased))
    mutator = context.model.mutators.get(name)
    if own and (mutator is None or not mutator.says_personal):
        return NONE
    if mutator is None or not mutator.says_personal:
        return arguments
    try:
        given = mutator.decode(arguments)
    except InvalidValue:  # it was rejected for that, or is an older program's
        return NONE if own else arguments
    after = erased.taken_out(given, mutator.names, own=own)
    return arguments if after is given else canonical(after).decode()


def learn_from(context: Context[Any], erased: Erased, name: str, arguments: str) -> None:
    """Take in what a mutation of theirs gave: what is declared to be personal in it, or each text where nothing is.

    Nothing of one of the library's own, whose arguments are what the document held.
    """
    if name.startswith("$"):
        return
    mutator = context.model.mutators.get(name)
    if mutator is not None and mutator.says_personal:
        with suppress(InvalidValue):  # an older program's: it declares nothing
            erased.learn(personal_texts(mutator.decode(arguments), mutator.names), are_personal=True)
            return
    erased.learn(texts_in(msgspec.json.decode(arguments)), are_personal=False)


def scalars_without(
    context: Context[Any], erased: Erased, stored: Mapping[str, AttributeValue]
) -> Mapping[str, AttributeValue]:
    """Stored scalars without them: the same object where they stay."""
    model = context.model
    if model.names.says_nothing:
        return stored
    declared = {name: model.scalars.by_name[name] for name in (*model.names.mentions, *model.names.personal)}
    fields = {name: field for name, field in declared.items() if field.stored in stored}
    values = {name: _loaded(field, stored[field.stored]) for name, field in fields.items()}
    after = erased.cleared(values, model.names, partial(_empty_scalar, model))
    different = {name: value for name, value in after.items() if value != values[name]}
    if not different:
        return stored
    kept = {name: value for name, value in stored.items() if name not in {fields[each].stored for each in different}}
    new = {fields[n].stored: writer_of(fields[n].plan)(v) for n, v in different.items() if v is not None}
    return {**kept, **as_stored(new)}


def _loaded(field: Field, stored: AttributeValue) -> Any:
    """The value of a scalar; as it is stored, where the class has another type by now: it may name somebody too."""
    try:
        return field.plan.load(stored)
    except (SingletableError, ValueError, LookupError, TypeError, ArithmeticError):
        return from_attribute_value(stored)


def _empty_scalar(model: DocumentModel, name: str, held: Any) -> Any:
    field = model.scalars.by_name[name]
    if field.optional:
        return None
    if field.default is not None:
        return field.default()
    if isinstance(held, str):
        with suppress(InvalidValue):  # an enum, or a choice of texts, does not take it
            writer_of(field.plan)(ERASED)
            return ERASED
    raise no_empty_value(f"{model.kind.__name__}.{name}")


def record_values(row: Row, arguments: str, needed: dict[Content, bytes | None], *, own: bool) -> dict[str, Any]:
    """The attributes of a mutation with other arguments, whose blob is added to `needed`."""
    data, digest = arguments.encode(), None
    if len(data) > MAX_INLINE_BYTES:
        digest = digest_of(data)
        needed[Content(ARGUMENTS, digest)] = data
    values: dict[str, Any] = {
        "arguments": arguments if digest is None else None,
        "arguments_blob": digest,
        "refers": True if digest is not None and refs_in(arguments) else None,
    }
    if own:
        values["principal"] = None
        if isinstance(row, MutationRecord) and row.error is not None:
            values["error"] = row.error.partition(":")[0]  # the rest may quote an argument
    return values


def content_without(
    contents: Contents, model: CollectionModel[Any], content: Content, erased: Erased
) -> bytes | Corrupt | None:
    """A content without them; None where it says nothing of them. Blocks."""
    try:
        value = model.codec.decode(contents.read(content))
    except Corrupt as error:
        return error
    after = erased.taken_out(value, model.names)
    return None if after is value else model.codec.encode(after)
