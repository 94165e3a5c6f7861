"""Documents, tasks and consumers that change on live data: what a plan counts, orders, and keeps."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, time, timedelta
from typing import Any

import msgspec
import pytest

from singletable import Database, Table
from singletable.documents import Document, Documents, Items, Mutation
from singletable.documents.blobs import NoBlobs
from singletable.migrations import Migrations, ModelDifference
from singletable.migrations.differences import differences
from singletable.migrations.model_document import document_of
from singletable.streams import Changes
from singletable.tasks import Tasks
from tests.migrations.changing import refused
from tests.support.engines import fresh


def boards(
    *,
    scalars: dict[str, Any] | None = None,
    content: Any = str,
    mutation: Any = None,
    task: Any = None,
    consumer: str = "changes",
    leases: Any = "own",
) -> tuple[Table, Any, Any]:
    """A table of boards, with a task and a consumer."""
    table = Table("boards", indexes=["gsi1"], stream="new_and_old")
    annotations = {"title": str, **(scalars or {}), "notes": Items[content]}
    namespace = {
        "__annotations__": annotations,
        "__module__": __name__,
        **dict.fromkeys(scalars or {}, None),
        "title": "",
    }
    board: Any = type("Board", (Document,), namespace, table=table, index="gsi1")
    board.mutation(name="rename")(mutation or rename)
    tasks = Tasks(table, index="gsi1")
    remind = tasks.task(name="remind")(task or by_mail)
    return table, board, (tasks, remind, Changes(table, name=consumer, leases=leases))


def rename(draft: Any, *, title: str) -> None:
    draft.title = title


def rename_in(draft: Any, *, title: str, language: str = "en") -> None:
    draft.title = f"{title} ({language})"


def rename_to_number(draft: Any, *, title: int) -> None:
    draft.title = str(title)


def by_mail(user: str) -> None: ...


def by_mail_often(user: str, times: int = 1) -> None: ...


def by_number(user: int) -> None: ...


def by_mail_at(user: str, place: str) -> None: ...


def by_mail_in(user: str, languages: set[str]) -> None: ...


def by_mail_in_some(user: str, languages: frozenset[str] = frozenset({"en"})) -> None: ...


def by_mail_in_any(user: str, languages: frozenset[str] = frozenset()) -> None: ...


@pytest.fixture
def db() -> Iterator[Database]:
    """A recorded table with a board and three tasks."""
    table, board, (tasks, remind, _) = boards()
    with fresh() as made:
        Migrations(made, table).apply()
        Documents(made, board, blobs=NoBlobs()).create("o1", "b1")
        with made.transaction() as tx:
            for n in range(3):
                tx.add(tasks.after(timedelta(days=1), remind(f"u{n}")))
        yield made


def told(db: Database, table: Table) -> list[tuple[str, str, str]]:
    """The differences of a plan that nothing refuses."""
    found: tuple[ModelDifference, ...] = Migrations(db, table).plan().differences
    return [(each.kind, each.rule, each.subject) for each in found]


def test_nothing_differs(db: Database) -> None:
    kept = boards()
    assert Migrations(db, kept[0]).plan().is_empty


@pytest.mark.parametrize(
    ("options", "subject"),
    [
        ({"task": by_mail_often}, "remind.arguments.times"),
        ({"task": by_mail_in_some}, "remind.arguments.languages"),
        ({"task": by_mail_in_any}, "remind.arguments.languages"),
        ({"mutation": rename_in}, "Board.mutations.rename"),
        ({"scalars": {"priority": int | None}}, "Board.scalars.priority"),
    ],
)
def test_what_an_older_worker_does_not_know_is_ordered(db: Database, options: Any, subject: str) -> None:
    kept = boards(**options)
    assert ("ordered", "layer.added", subject) in told(db, kept[0])


@pytest.mark.parametrize(("task", "subject"), [(by_number, "user"), (by_mail_at, "place"), (by_mail_in, "languages")])
def test_arguments_that_waiting_tasks_do_not_fit(db: Database, task: Any, subject: str) -> None:
    kept = boards(task=task)
    assert refused(db, kept[0])[1] == [("layer.changed", f"remind.arguments.{subject}", 3)]


def test_arguments_that_waiting_mutations_do_not_fit(db: Database) -> None:
    board = boards()[1]
    documents: Any = Documents(db, board, blobs=NoBlobs())
    call = Mutation("rename", '{"title":"a"}')
    documents.submit("b1", [call.by("c", n) for n in (1, 2)])
    kept = boards(mutation=rename_to_number)
    assert refused(db, kept[0])[1] == [("layer.changed", "Board.mutations.rename", 2)]
    documents.process("b1")
    assert Migrations(db, kept[0]).plan().steps[-1].kind == "record"


def test_a_document_that_older_versions_do_not_fit(db: Database) -> None:
    kept = boards(content=int)
    assert refused(db, kept[0])[1] == [("layer.changed", "Board.collections.notes", 1)]


@pytest.mark.parametrize("content", [datetime, time])
def test_a_text_that_becomes_a_moment(db: Database, content: Any) -> None:
    """JSON Schema has one word for them all."""
    kept = boards(content=content)
    assert refused(db, kept[0])[1] == [("layer.changed", "Board.collections.notes", 1)]


def test_a_record_of_a_release_that_wrote_no_moments(db: Database) -> None:
    form = document_of(boards(content=datetime)[0])
    board = msgspec.json.decode(msgspec.json.encode(form.layers))["documents"]["Board"]
    del board["collections"]["notes"]["content"]["moments"], board["mutations"]["rename"]["arguments"]["moments"]
    older = msgspec.structs.replace(form, layers={**(form.layers or {}), "documents": {"Board": board}})
    assert not differences(older, form, {})


def test_a_program_that_imports_no_layers_takes_nothing_away(db: Database) -> None:
    alone = Table("boards", indexes=["gsi1"], stream="new_and_old")
    plan = Migrations(db, alone).plan()
    assert {each.rule for each in plan.differences} <= {"layer.left out"}
    assert plan.is_empty
