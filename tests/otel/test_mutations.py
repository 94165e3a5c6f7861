"""A mutation carries its trace from its submission to the commit of the version that it is in."""

from __future__ import annotations

from typing import Any

import pytest
from obstore.store import MemoryStore
from opentelemetry.trace import StatusCode

from singletable.documents import AsyncDocuments, Documents, Mutation, ObjectBlobs
from singletable.operations import PutItem
from tests.documents.models import Project, Shape, put_shape
from tests.documents.shells import Disguised as DisguisedDocuments
from tests.otel.traced import CANARY, Recorded, id_of, is_child, parent_of, text_of
from tests.support.raw import all_items
from tests.support.shells import Disguised, Shell


def documents(shell: Shell) -> Any:
    store = ObjectBlobs(MemoryStore())
    made: Any = shell
    if isinstance(made, Disguised):
        return DisguisedDocuments(Documents(made.db, Project, blobs=store))
    return AsyncDocuments(shell, Project, blobs=store)


def put(client: str, number: int) -> Any:
    return put_shape(id=CANARY, shape=Shape(text=CANARY)).by(client, number)


async def test_a_mutation_goes_on_with_the_trace_to_its_commit(shell: Shell, recorded: Recorded) -> None:
    docs = documents(shell)
    await docs.create("o", "p")
    recorded.exporter.clear()
    with recorded.request("POST /push") as request:
        await docs.submit("p", [put("ada", 1)])
    await docs.process("p")
    made, applied = recorded.named("create put_shape"), recorded.named("process Project")
    assert is_child(made, request)
    assert is_child(applied, made)
    commits = [span for span in recorded.spans if span.name.startswith("TransactWriteItems")]
    assert is_child(commits[-1], applied)
    assert applied.status.status_code is StatusCode.UNSET
    said = dict(applied.attributes or {})
    assert (said["messaging.system"], said["messaging.batch.message_count"]) == ("singletable_mutations", 1)
    assert not [span.name for span in recorded.spans if CANARY in text_of(span)]


async def test_a_version_of_several_mutations_has_a_link_to_each(shell: Shell, recorded: Recorded) -> None:
    docs = documents(shell)
    await docs.create("o", "p")
    for client in ("ada", "bob"):
        with recorded.request(f"push {client}"):
            await docs.submit("p", [put(client, 1)])
    await docs.submit("p", [put("eve", 1)])  # without a span
    await docs.process("p")
    made = [id_of(span) for span in recorded.spans if span.name == "create put_shape"]
    applied = recorded.named("process Project")
    assert parent_of(applied) == 0
    assert len(made) == 2
    assert [link.context.span_id for link in applied.links] == made
    assert dict(applied.attributes or {})["messaging.batch.message_count"] == 3


@pytest.mark.parametrize("text", ["nonsense", "", "x" * 5000])
async def test_a_foreign_context_in_the_inbox_is_none(shell: Shell, recorded: Recorded, text: str) -> None:
    docs = documents(shell)
    await docs.create("o", "p")
    await docs.submit("p", [put("ada", 1)])
    (row,) = [i for i in await run(shell, all_items(shell.port, "documents-test")) if "Inbox" in i["sk"]["S"]]
    assert "trace" not in row
    await run(shell, shell.port.send(PutItem("documents-test", {**row, "trace": {"S": text}})))
    assert [outcome.status for outcome in await docs.process("p")] == ["applied"]
    assert recorded.named("process Project").links == ()


async def test_the_name_that_a_client_sends_is_not_told(shell: Shell, recorded: Recorded) -> None:
    docs = documents(shell)
    await docs.create("o", "p")
    with recorded.request():
        await docs.submit("p", [Mutation(CANARY, "{}").by("ada", 1)])
    assert recorded.named("create unknown").parent is not None
    assert not [span.name for span in recorded.spans if CANARY in text_of(span)]


async def run(shell: Shell, flow: Any) -> Any:
    answer = shell.run(flow)
    return await answer if hasattr(answer, "__await__") else answer
