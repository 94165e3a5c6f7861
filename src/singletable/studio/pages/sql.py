"""SQL: a question to the last export, its rows as a typed table, and a chart of them. Sends nothing to the table."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from typing import Literal

from msgspec import Struct

from singletable.errors import Denied, InvalidRequest, NotConfigured, NotFound
from singletable.flow import instant
from singletable.reports.inspect import quoted, text
from singletable.studio.page import Page, Section
from singletable.studio.questions import MOST_ROWS, MOST_SECONDS, VIEW_KINDS, AnsweredQuestion, Desks
from singletable.studio.view import View
from singletable.studio.visit import Visit

AS_EXPORTED = "as_exported"


class Example(Struct, frozen=True):
    """A question to begin with."""

    text: str
    address: str


class SqlPage(View, frozen=True, kw_only=True):
    """A question and its answer, or what is missing for one."""

    sql: str
    asked: AnsweredQuestion | None = None
    missing: Literal["", "extra", "export", "readable export"] = ""
    what: str = ""
    """The missing part, in words."""
    hint: str = ""
    place: str = ""
    age: str = ""
    """The age of the export."""
    as_exported: bool = False
    commands: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    most_rows: int = MOST_ROWS
    most_seconds: float = MOST_SECONDS


async def load_sql(visit: Visit) -> SqlPage:
    site, sql = visit.site, visit.query.get("sql", "")
    if not visit.reads_all:
        raise Denied("an export holds every class: SQL is for those who may read all of them")
    as_exported = visit.query.get(AS_EXPORTED) == "yes"
    page = partial(SqlPage, title="SQL", sql=sql, place=site.export, as_exported=as_exported)
    place = site.export or "exports"
    commands = site.command("export", "--to", place), site.command("studio", "--from", place)
    if not site.export:
        return page(missing="export", what="This studio knows of no export.", commands=commands)
    desks: Desks = site.kept.setdefault("sql", Desks(site.export, site.tables))
    try:
        asked = await desks.ask(visit.user, sql, personal=not visit.covered, as_exported=as_exported)
    except NotConfigured as error:
        return page(missing="extra", what=error.what, commands=("python -m pip install 'singletable[reports]'",))
    except NotFound as error:
        return page(missing="export", what=error.what, commands=commands)
    except InvalidRequest as error:
        return page(missing="readable export", what=error.what, hint=error.hint or "", commands=commands[:1])
    age = _age(asked.export.complete_at, instant(site.now()))
    return page(asked=asked, age=age, examples=tuple(_examples(visit, asked)))


def _examples(visit: Visit, asked: AnsweredQuestion) -> Iterator[Example]:
    """Questions to the first class, to the first relation, and to all classes. Documents are of the library's own."""
    named = {kind: [view.name for view in asked.export.views if view.kind == kind] for kind in VIEW_KINDS}
    own = named["class"] or named["system"]
    texts = [f"FROM {quoted(name)} LIMIT 20" for name in (*own[:1], *named["relation"][:1])]
    if len(own) > 1:
        counts = (f"SELECT {text(name)} AS class, count(*) AS items FROM {quoted(name)}" for name in own)  # noqa: S608
        texts.append("-- Items of each class\n" + "\nUNION ALL ".join(counts) + "\nORDER BY items DESC")
    for each in texts:
        yield Example(each, visit.links.of("/sql", {"sql": each}))


def _age(complete_at: datetime, now: datetime) -> str:
    """`3 minutes`, `2 days`: of whole units."""
    seconds = max(0, int((now - complete_at).total_seconds()))
    for size, word in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {word}{'' if count == 1 else 's'}"
    return "less than a minute"


SECTION = Section(
    pages=(Page("/sql", "sql.html", load_sql, nav="SQL", order=90, style="sql.css"),),
)
