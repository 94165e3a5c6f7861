"""The traces of mutations: each has the context in which it was submitted, and a version is the work on several."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from singletable.documents.context import Context
from singletable.documents.rows import InboxRow
from singletable.events import TraceContext, TracedWork
from singletable.flow import Port


def context_of(port: Port, context: Context[Any], name: str) -> str | None:
    """The stored form of the context in which a mutation is submitted, if a listener gives one."""
    return port.events.context_text("mutation", known_name(context, name), context.model.table.name)


def known_name(context: Context[Any], name: str) -> str:
    """The name of a mutation as events tell it. A client may send any text: one that is not declared is not told."""
    return name if name in context.model.mutators else "unknown"


def work_on(port: Port, context: Context[Any], rows: Sequence[InboxRow]) -> AbstractContextManager[TracedWork]:
    """The block that makes a version of some mutations."""
    stored = (TraceContext.of_text(row.trace) for row in rows)
    return port.events.handling(
        "mutation",
        context.model.words.document,
        context.model.table.name,
        contexts=tuple(one for one in stored if one is not None),
        count=len(rows),
    )
