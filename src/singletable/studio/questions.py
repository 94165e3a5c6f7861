"""Questions by SQL to the last export, as values: what can be asked, the rows of an answer, and its chart.

The reports extra is imported when a question is asked: the studio runs without it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import anyio
import anyio.to_thread
import msgspec
from msgspec import Struct

from singletable.errors import InvalidRequest
from singletable.foundation import Table

if TYPE_CHECKING:
    from singletable.exchange import DatasetFiles
    from singletable.reports import Answer, SqlSession

MOST_ROWS, MOST_SECONDS, MOST_MEGABYTES, MOST_ANSWER_MEGABYTES = 1_000, 10.0, 512, 16
"""The limits of one question."""
MOST_TOGETHER: Final = 4
"""Questions that are answered at the same time, each of another visitor."""
_MOST_DESKS: Final = 16
_MOST_BARS: Final = 40
_MOST_TEXT: Final = 2_000
"""Characters of a cell that are shown; the JSON has the same number."""


class ViewColumn(Struct, frozen=True):
    """A column that can be asked for."""

    name: str
    type: str


ViewKind = Literal["class", "relation", "system"]
"""A class of the program, a relation between two, the library's own items."""
VIEW_KINDS: Final[Sequence[ViewKind]] = ("class", "relation", "system")


class SqlView(Struct, frozen=True):
    """A view that can be asked."""

    name: str
    description: str
    columns: tuple[ViewColumn, ...]
    """The columns; empty for a relation, which has those of both sides."""
    kind: ViewKind


class Export(Struct, frozen=True):
    """The export that is asked."""

    place: str
    complete_at: datetime
    rows: int
    views: tuple[SqlView, ...]


class AnswerColumn(Struct, frozen=True):
    """A column of an answer."""

    name: str
    type: str
    is_number: bool


class QuestionRows(Struct, frozen=True):
    """The answer to a question."""

    columns: tuple[AnswerColumn, ...]
    rows: tuple[tuple[Any, ...], ...]
    milliseconds: float
    is_cut: bool
    """Whether there are more rows than are shown."""
    chart: str = ""
    """SVG; empty if the rows make no chart."""
    notes: tuple[str, ...] = ()
    """Values that the answer leaves out."""


class AnsweredQuestion(Struct, frozen=True):
    """An export, and the answer of a question to it, or why there is none."""

    export: Export
    answer: QuestionRows | None = None
    refused: str = ""
    hint: str = ""


class Desks:
    """A desk for each visitor, where one question is answered at a time: nobody waits for what another asked."""

    def __init__(self, place: str, tables: Sequence[Table]) -> None:
        self._place, self._tables = place, tables
        self._limiter = anyio.CapacityLimiter(MOST_TOGETHER)
        self._desks: dict[str, tuple[Desk, anyio.Lock]] = {}

    async def ask(self, user: str, sql: str, *, personal: bool, as_exported: bool) -> AnsweredQuestion:
        """`Desk.ask`, after the visitor's question before it."""
        if user not in self._desks:
            self._desks[user] = Desk(self._place, self._tables), anyio.Lock()
        desk, turn = self._desks[user] = self._desks.pop(user)
        self._close_idle()
        question = partial(desk.ask, sql, personal=personal, as_exported=as_exported)
        async with turn:
            return await anyio.to_thread.run_sync(question, limiter=self._limiter)

    def _close_idle(self) -> None:
        """The desks of those who asked last stay."""
        for user, (desk, turn) in list(self._desks.items())[:-_MOST_DESKS]:
            if not turn.locked():
                desk.close()
                del self._desks[user]


class Desk:
    """An export, kept open between questions. A new manifest in its place is a new export: that is opened then."""

    def __init__(self, place: str, tables: Sequence[Table]) -> None:
        self._place, self._tables = place, tables
        self._opened: _Opened | None = None

    def ask(self, sql: str, *, personal: bool, as_exported: bool) -> AnsweredQuestion:
        """Ask the export; an empty text asks nothing. Blocks until the answer is there.

        NotConfigured without the reports extra, NotFound without an export, InvalidRequest for one whose classes have
        changed since, unless `as_exported`.
        """
        opened = self._current(personal, as_exported)
        if not sql.strip():
            return AnsweredQuestion(opened.export)
        try:
            return AnsweredQuestion(opened.export, _answered(opened.session, sql))
        except InvalidRequest as error:
            return AnsweredQuestion(opened.export, refused=error.what, hint=error.hint)

    def close(self) -> None:
        """Let go of the export. The next question opens it again."""
        if self._opened is not None:
            self._opened.session.close()
            self._opened = None

    def _current(self, personal: bool, as_exported: bool) -> _Opened:
        reports, exchange = _extra()
        named = exchange.read_manifest(exchange.store_at(self._place)).id, personal, as_exported
        if self._opened is None or self._opened.named != named:
            self.close()
            limits = reports.Limits(MOST_ROWS, MOST_SECONDS, MOST_MEGABYTES, MOST_ANSWER_MEGABYTES)
            session = reports.open_export(
                self._place, *self._tables, personal=personal, as_exported=as_exported, limits=limits
            )
            self._opened = _Opened(named, session, _export(session))
        return self._opened


class _Opened(Struct, frozen=True):
    """An export that is open: its manifest's id, whether personal values are shown, whether its classes may differ."""

    named: tuple[str, bool, bool]
    session: Any
    export: Export


def _extra() -> tuple[Any, Any]:
    """The packages that need the reports extra. Their names raise NotConfigured if it is not installed."""
    return import_module("singletable.reports"), import_module("singletable.exchange")


def _export(session: SqlSession) -> Export:
    manifest = session.manifest
    kinds: dict[str, ViewKind] = {relation.name: "relation" for relation in session.relations}
    kinds |= {each.name: "system" for each in session.datasets if each.is_system}
    columns = {each.name: tuple(_columns(each)) for each in session.datasets}
    views = tuple(
        SqlView(name, description, columns.get(name, ()), kinds.get(name, "class"))
        for name, description in session.views.items()
    )
    return Export(session.place, manifest.complete_at, manifest.rows, views)


def _columns(dataset: DatasetFiles) -> Iterator[ViewColumn]:
    """The columns of its view, which leaves out the ones that only an import needs."""
    return (ViewColumn(column.name, column.type) for column in dataset.columns if not column.name.startswith("_"))


def _answered(session: SqlSession, sql: str) -> QuestionRows:
    began = time.perf_counter()
    answer = session.query(sql)
    taken = (time.perf_counter() - began) * 1000
    columns = tuple(AnswerColumn(name, type, _is_number(type)) for name, type in answer.types.items())
    rows = tuple(tuple(_cell(value) for value in row) for row in answer.rows())
    return QuestionRows(columns, rows, round(taken, 1), answer.is_cut, _chart(answer, sql), answer.notes)


def _is_number(type: str) -> bool:
    return type.startswith(("int", "uint", "float", "double", "decimal", "halffloat"))


def _cell(value: Any) -> Any:
    """A value as a row shows it: what is long, or no JSON, is a text that is cut."""
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    text: Any = _nested(cast(Any, value)) if isinstance(value, (dict, list)) else value
    if isinstance(text, str) and len(text) > _MOST_TEXT:
        return f"{text[:_MOST_TEXT]}… ({len(text):,} characters)"
    shown: Any = cast(Any, value)
    return shown if text is not None or value is None else str(shown)


def _nested(value: Any) -> str | None:
    """A list or a map as JSON; None for one that JSON can't hold, as a map by maps."""
    try:
        return msgspec.json.encode(value).decode()
    except TypeError:
        return None


def _chart(answer: Answer, sql: str) -> str:
    """The rows drawn, where they have a column of numbers over others, and are few enough to be told apart."""
    reports, _ = _extra()
    if not len(answer) > 1 or answer.is_cut:
        return ""
    try:
        chart = answer.chart(_title(sql))
    except InvalidRequest:
        return ""
    has_labels = len(chart.series) < len(answer.columns)
    return (
        str(reports.svg_of(chart)) if has_labels and (chart.form == "lines" or len(chart.labels) <= _MOST_BARS) else ""
    )


def _title(sql: str) -> str:
    """The title of a question: its first comment; or its own words."""
    first = sql.strip().splitlines()[0]
    return first.removeprefix("--").strip()[:100]
