"""The way in from HTTP: what is refused, with which status, and that nothing of it is told to whom it isn't for."""

from __future__ import annotations

import asyncio  # noqa: TID251
import json
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from singletable import Table, Unavailable, connect_async
from singletable.documents import BlobStore, Document, Draft, Items, collection
from singletable.sync import Limits
from singletable.sync.http import read_head
from singletable.wire import RetryPolicy
from tests.support.engines import fresh_async
from tests.sync.calling import Exchange, call, first, scope_of
from tests.sync.simulated import Client
from tests.sync.world import World

ADA = {"authorization": "ada"}


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/", "GET", 404),
        ("/nothing", "POST", 404),
        ("/push/x", "POST", 404),
        ("/push", "GET", 405),
        ("/pull", "PUT", 405),
        ("/pull", "OPTIONS", 405),
        ("/pokes", "POST", 405),
        ("/pull/", "POST", 200),
    ],
)
async def test_paths_and_methods(world: World, path: str, method: str, status: int) -> None:
    answer = await call(world.app, path, Client("g", "c").pull(), method=method, headers=ADA)
    assert answer.status == status
    assert ("allow" in answer.headers) == (status == 405)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", "multipart/form-data; x=1"])
async def test_what_another_sites_form_can_send_is_refused(world: World, kind: str) -> None:
    answer = await call(world.app, "/push", Client("g", "c").push(), headers={**ADA, "content-type": kind})
    assert answer.status == 415


async def test_a_body_is_json_whatever_its_charset_is_said_to_be(world: World) -> None:
    headers = {**ADA, "content-type": "Application/JSON; charset=utf-8"}
    assert (await call(world.app, "/pull", Client("g", "c").pull(), headers=headers)).status == 200


@pytest.mark.parametrize("path", ["/push", "/pull", "/pokes"])
async def test_an_unauthenticated_request_gets_nothing(world: World, path: str) -> None:
    method = "GET" if path == "/pokes" else "POST"
    answer = await call(world.app, path, Client("g", "c").pull(), method=method)
    assert answer.status == 401
    assert world.asked == []


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"{}", b'{"pullVersion": "1"}'])
async def test_what_no_client_sends_is_400(world: World, body: bytes) -> None:
    for path in ("/push", "/pull"):
        answer = await call(world.app, path, body, headers=ADA)
        assert answer.status == 400
        assert answer.json["error"] == "mistake.request"


async def test_a_bomb_of_brackets_is_400(world: World) -> None:
    answer = await call(world.app, "/push", b'{"mutations":' + b"[" * 1_000_000, headers=ADA)
    assert answer.status == 400


@pytest.mark.parametrize("version", [0, 2])
async def test_another_version_is_answered_as_the_protocol_wants(world: World, version: int) -> None:
    old = {"clientID": "c", "profileID": "p", "schemaVersion": "", "mutations": [], "lastMutationID": 0, "cookie": None}
    push = await call(world.app, "/push", {**old, "pushVersion": version}, headers=ADA)
    pull = await call(world.app, "/pull", {**old, "pullVersion": version}, headers=ADA)
    assert (push.status, push.json) == (200, {"error": "VersionNotSupported", "versionType": "push"})
    assert (pull.status, pull.json) == (200, {"error": "VersionNotSupported", "versionType": "pull"})


async def test_client_code_that_is_no_longer_served_must_reload(blobs: BlobStore, world: World) -> None:
    newer = World(world.db, blobs, schema_versions=("2", "3"))
    for path, body in (("/push", Client("g", "c").push()), ("/pull", Client("g", "c").pull())):
        answer = await newer.send(path, body)
        assert (answer.status, answer.json) == (200, {"error": "VersionNotSupported", "versionType": "schema"})
        assert "error" not in (await newer.send(path, {**body, "schemaVersion": "3"})).json


@pytest.mark.parametrize("said", [True, False])
async def test_a_body_over_the_limit_is_not_read(blobs: BlobStore, world: World, said: bool) -> None:
    small = World(world.db, blobs, limits=Limits(body_bytes=1000))
    headers = {**ADA, **({"content-length": "1001"} if said else {})}
    body = b" " * (1001 if said else 50_000_000)
    answer = await call(small.app, "/push", body, headers=headers, chunk_bytes=100)
    assert answer.status == 413
    assert answer.headers["connection"] == "close"


async def test_a_body_that_does_not_come_is_not_waited_for(blobs: BlobStore, world: World) -> None:
    hasty = World(world.db, blobs, limits=Limits(body_seconds=0.01))
    exchange = Exchange(b"")
    exchange._over = True  # and it never leaves either
    headers = {**ADA, "content-type": "application/json"}
    task = asyncio.ensure_future(
        hasty.app(scope_of("POST", "/push", {"project": "p1"}, headers), exchange.receive, exchange.send)
    )
    assert (await first(exchange, task))["status"] == 408
    await task


async def test_a_caller_who_leaves_in_the_middle_is_let_go(world: World) -> None:
    exchange = Exchange(b"")
    exchange._over = True
    exchange.gone.set()
    headers = {**ADA, "content-type": "application/json"}
    await world.app(scope_of("POST", "/push", {"project": "p1"}, headers), exchange.receive, exchange.send)
    assert exchange.sent.empty()


async def test_a_user_over_the_rate_waits(blobs: BlobStore, world: World) -> None:
    slow = World(world.db, blobs, limits=Limits(requests_per_second=0.5, burst=2))
    pull = Client("g", "c").pull()
    assert [(await slow.send("/pull", pull)).status for _ in range(3)] == [200, 200, 429]
    refused = await slow.send("/push", Client("g", "c").push())
    assert (refused.status, refused.headers["retry-after"]) == (429, "2")
    assert (await slow.send("/pull", Client("gb", "cb").pull(), user="ben")).status == 200
    slow.now += 2
    assert (await slow.send("/pull", pull)).status == 200


@pytest.mark.parametrize("project", ["a\u0000b", "e\u0301", "\u202e", "p" * 600, "\ufdd0"])
async def test_a_project_that_no_key_can_name_is_missing(world: World, project: str) -> None:
    answer = await world.send("/pull", Client("g", "c").pull(), project=project)
    assert (answer.status, answer.json["error"]) == (404, "not-found")


@pytest.mark.parametrize("project", ["a#b", "a/b", "é", "..", "%41", "a b", "日本"])
async def test_projects_of_any_other_name_are_kept_apart(world: World, project: str) -> None:
    ada = Client("ga", "ca")
    ada.mutate("rename", name=project)
    await world.push(ada, project=project)
    await world.pull(ada, project=project)
    assert ada.base["project"]["name"] == project


async def test_no_project_is_a_mistake(world: World) -> None:
    answer = await call(world.app, "/pull", Client("g", "c").pull(), headers=ADA, project=None)
    assert answer.status == 400
    assert (await call(world.app, "/pull", Client("g", "c").pull(), headers=ADA, project="x" * 5000)).status == 414


async def test_replies_are_never_kept_or_guessed_at(world: World) -> None:
    for answer in (await world.send("/pull", Client("g", "c").pull()), await world.send("/pull", {}, user=None)):
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["content-length"] == str(len(answer.body))


async def test_an_engine_that_is_away_is_503(blobs: BlobStore) -> None:
    async with connect_async("http://127.0.0.1:9", environ={}, region="x", retry=RetryPolicy(attempts=1)) as db:
        world = World(db, blobs)
        answer = await world.send("/pull", Client("g", "c").pull())
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert "127.0.0.1" not in answer.body.decode()


def sheet(version: int) -> type[Any]:
    """The document as the program of a version has it."""

    class Sheet(Document, table=Table("sheets")):
        cells: Items[str] = collection(version=version)

    if version > 1:
        Sheet.cells.upcast(1)(lambda stored: stored)

    @Sheet.mutation
    def fill(draft: Draft[Sheet], *, id: str, text: str) -> None:
        draft.cells[id] = text

    return Sheet


async def test_what_a_newer_program_wrote_is_503_at_an_older_server(blobs: BlobStore) -> None:
    """The client comes again, and may meet a server that knows it."""
    async with fresh_async() as db:
        older, newer = World(db, blobs, kind=sheet(1)), World(db, blobs, kind=sheet(2))
        ada = Client("g", "c")
        ada.mutate("fill", id="a", text="x")
        assert (await newer.push(ada)).status == 200
        answer = await older.send("/pull", ada.pull())
        assert (answer.status, answer.json["error"], answer.headers["retry-after"]) == (503, "unavailable", "1")
        assert (await newer.pull(ada)).status == 200
        assert ada.base["cells/a"] == "x"


async def test_what_is_broken_here_is_not_the_callers_fault(world: World) -> None:
    """It is the server's to log, and to answer with 500."""

    async def broken(*_: Any) -> bool:
        raise ZeroDivisionError

    world.sync._authorise = broken
    with pytest.raises(ZeroDivisionError):
        await world.send("/pull", Client("g", "c").pull())


async def test_fields_that_are_not_known_are_passed_over(world: World) -> None:
    ada = Client("ga", "ca")
    ada.mutate("rename", name="x")
    push = {**ada.push(), "future": [1]}
    push["mutations"][0]["future"] = {"a": None}
    assert (await (await world.send("/push", push)).done()).json == {}
    assert (await world.send("/pull", {**ada.pull(), "future": 1})).json["lastMutationIDChanges"] == {"ca": 1}


async def test_mounted_below_a_path(world: World) -> None:
    """As servers and frameworks pass it: the whole path, and where the application is mounted."""
    outer = Starlette(routes=[Mount("/replicache", world.app)])
    answer = await call(outer, "/replicache/pull", Client("g", "c").pull(), headers=ADA)
    assert (answer.status, json.loads(answer.body)["cookie"]["version"]) == (200, 0)


async def test_standing_alone_it_lives_and_ends(world: World) -> None:
    said: list[str] = []
    asked = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]

    async def receive() -> Any:
        await asyncio.sleep(0)
        return asked.pop(0)

    async def send(message: Any) -> None:
        said.append(message["type"])

    await world.app({"type": "lifespan"}, receive, send)
    assert said == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    stream = world.listen()
    assert (await stream.start(), await stream.next()) == (200, "")
    await stream.task


def test_headers_that_come_in_parts_are_joined() -> None:
    scope = scope_of("POST", "/pull", {}, {"authorization": "ada"})
    scope["headers"] += [(b"cookie", b"a=1"), (b"Cookie", b"b=2"), (b"Authorization", b"ben")]
    request = read_head(scope)
    assert (request.headers["cookie"], request.headers["authorization"]) == ("a=1; b=2", "ada, ben")


async def test_an_unavailable_application_is_503(world: World) -> None:
    async def away(*_: Any) -> bool:
        raise Unavailable("the members' database is away")

    world.sync._authorise = away
    answer = await world.send("/pull", Client("g", "c").pull())
    assert (answer.status, answer.json["error"]) == (503, "unavailable")
