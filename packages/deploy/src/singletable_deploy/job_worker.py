"""A function that works on durable jobs, with a role of its own: called by a schedule, or by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from singletable.errors import DeclarationError
from singletable.foundation import Table, model_of, tool_classes
from singletable_deploy.access import Grant, ResourceAccess, Where, anywhere, table_resource
from singletable_deploy.deployment import Function
from singletable_deploy.layer_grants import held_at
from singletable_deploy.ready_roles import DESCRIBES
from singletable_deploy.record_grants import Pattern
from singletable_deploy.role import Role

_ITEM_READS: Final = ("GetItem", "BatchGetItem", "Query")
_ITEM_WRITES: Final = ("PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem")
_JOB_WORDS: Final = ("job", "rate")
"""How the words of the items of jobs begin, and of the rates that their workers share."""
_WRITING: Final = ("fill",)
_READING: Final = ("check", "plan", "stats")
_GRANTED_APART: Final = ("collect",)
_SCANNING: Final = ("erase",)
"""Kinds whose workers scan, and do nothing else: the process that erases reads and deletes."""
_LONGEST: Final = 900
"""The most seconds that Lambda lets a function work."""


def works_on_jobs(table: Table, *kinds: str) -> Grant:
    """Work on jobs of a table: keep sections and rates, scan the table, and do what the kinds do. "fill" writes items,
    also of the tables that items move to; "check", "plan" and "stats" read everything; "erase" scans. For "collect"
    give `collects_garbage(...)` too, for each class of documents. DeclarationError for other kinds."""
    known = (*_WRITING, *_READING, *_GRANTED_APART, *_SCANNING)
    wrong = [kind for kind in kinds if kind not in known]
    if wrong or not kinds:
        what = f"no kind of job {wrong[0]!r} runs in a function" if wrong else "no kind of job is named"
        others = "A copy needs two databases, an export a bucket for its files: work on them by `singletable job run`."
        raise DeclarationError(what, hint=f"These do: {', '.join(sorted(known))}. {others}")

    def accesses(where: Where) -> Iterator[ResourceAccess]:
        yield from _of_jobs(table)
        yield from anywhere(table, ("Scan", *DESCRIBES))
        if any(kind in _WRITING for kind in kinds):
            for written in dict.fromkeys((table, *table.sources, *table.targets)):
                yield from anywhere(written, (*_ITEM_READS, *_ITEM_WRITES, *DESCRIBES))
        if any(kind in _READING for kind in kinds):
            yield from anywhere(table, ("Query", "Scan"), indexes=True)
            yield from anywhere(table, _ITEM_READS)

    tables = tuple(dict.fromkeys((table, table.own_items or table)))
    return Grant(f"works_on_jobs({', '.join((table.name, *kinds))})", tables, accesses)


def job_worker(
    table: Table,
    *kinds: str,
    handler: str,
    may: Sequence[Pattern | Grant] = (),
    every: timedelta = timedelta(minutes=5),
    name: str = "job-worker",
) -> Function:
    """A function that works on a table's jobs of some kinds, and its role. `handler` names
    `Jobs(db, table).lambda_handler()`. It works for up to 15 minutes, and a schedule calls it again; a call by hand
    names a job: `{"job": ID}`. `may` is what its role may do beside."""
    role = Role(name, [works_on_jobs(table, *kinds), *may], service="lambda")
    return Function(name, handler, role, every, seconds=_LONGEST)


def _of_jobs(table: Table) -> Iterator[ResourceAccess]:
    """The items of jobs, and of the rates that their workers share. Of a foreign table they are in its `own_items`."""
    for kind in tool_classes():
        if kind.word.partition("_")[0] not in _JOB_WORDS:
            continue
        model = model_of(kind.of(table))
        own = (held_at(model.key.templates[0], {}),)
        yield ResourceAccess(table_resource(model.table), frozenset({*_ITEM_READS, *_ITEM_WRITES}), own)
        yield ResourceAccess(table_resource(model.table), frozenset(DESCRIBES))
