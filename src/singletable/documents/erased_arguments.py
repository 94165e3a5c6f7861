"""Arguments and scalars of documents without the persons that an erasure erases."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from singletable.documents.canonical_json import canonical
from singletable.documents.context import Context
from singletable.documents.document import DocumentModel
from singletable.documents.own_mutations import with_scalars
from singletable.documents.personal import Erased, no_empty_value
from singletable.errors import InvalidValue
from singletable.foundation import ERASED
from singletable.values import AttributeValue, writer_of

NONE = "{}"


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


def scalars_without(
    context: Context[Any], erased: Erased, stored: Mapping[str, AttributeValue]
) -> Mapping[str, AttributeValue]:
    """Stored scalars without them: the same object where they stay."""
    model = context.model
    if model.names.says_nothing:
        return stored
    declared = {name: model.scalars.by_name[name] for name in (*model.names.mentions, *model.names.personal)}
    fields = {name: field for name, field in declared.items() if field.stored in stored}
    values = {name: field.plan.load(stored[field.stored]) for name, field in fields.items()}
    after = erased.cleared(values, model.names, partial(_empty_scalar, model))
    different = {name: value for name, value in after.items() if value != values[name]}
    if not different:
        return stored
    kept = {name: value for name, value in stored.items() if name not in {fields[each].stored for each in different}}
    new = {fields[n].stored: writer_of(fields[n].plan)(v) for n, v in different.items() if v is not None}
    return {**kept, **new}


def _empty_scalar(model: DocumentModel, name: str, held: Any) -> Any:
    field = model.scalars.by_name[name]
    if field.optional:
        return None
    if field.default is not None:
        return field.default()
    if isinstance(held, str):
        return ERASED
    raise no_empty_value(f"{model.kind.__name__}.{name}")
