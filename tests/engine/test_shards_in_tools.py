"""A table whose keys have shards, through what reads and writes whole tables, through the studio, and agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from singletable import ANY, Collection, Entity, Key, Table, collect, field, key_of
from singletable.cli.app import app as program
from singletable.erasure import Erasure
from singletable.erasure.search import root_of
from singletable.exchange import Exports, Imports, TableCopy
from singletable.exchange.slices import Slices
from singletable.foundation import model_of
from singletable.reports import open_live
from singletable.streams import Changes, ChangeWorker
from tests.mcp.serving import serving
from tests.studio.visitor import shown, visiting
from tests.support.engines import fresh, fresh_async
from tests.support.raw import all_items

pytestmark = pytest.mark.embedded("its engines are its own: an export, a copy and a worker each need one")

logs = Table("logs", indexes=["gsi1"], stream="new_and_old")


class Line(Entity, table=logs, type="line"):
    id: str = field(personal=True)
    at: int
    level: str = "info"

    @logs.key
    @staticmethod
    def of(at: int = ANY, id: str = ANY) -> Key:
        """The log by time."""
        return f"log#{id:shard(8)}", f"{at:06}#{id}"

    @logs.index("gsi1")
    @staticmethod
    def by_level(level: str, at: int = ANY, id: str = ANY) -> Key:
        """The lines of a level by time."""
        return f"level#{level}#{id:shard(4)}", f"{at:06}"


people = Table("people", indexes=["gsi1"])


class User(Entity, table=people, type="user"):
    id: str
    email: str

    @people.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"user#{id}", "user"

    @people.index("gsi1")
    @staticmethod
    def by_email(email: str) -> Key:
        return f"users#{email:shard(2)}", f"{email}"


class Post(Entity, table=people, type="post"):
    id: str
    author: str = field(belongs_to=lambda: User.email)

    @people.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"post#{id}", "post"


class Log(Collection):
    lines: list[Line]

    whole = collect(Line.of)


LINES = [Line(id=f"l{number}", at=number) for number in range(30)]


def as_set(items: Any) -> set[str]:
    return {str(sorted(item.items())) for item in items if item["_type"] == {"S": "line"}}


@pytest.mark.parametrize("format", ["jsonl", "parquet"])
def test_it_is_exported_imported_and_asked(format: Any, tmp_path: Path) -> None:
    with fresh() as source, fresh() as target:
        source.write_many(puts=LINES)
        target.create_table(logs)
        Exports(source, logs).export(tmp_path / "data", format=format, personal=True)
        assert Imports(target, logs).run(tmp_path / "data", bad_rows=tmp_path / "bad.jsonl").written == len(LINES)
        same = [as_set(db.run(all_items(db.port, "logs"))) for db in (source, target)]
        assert same[0] == same[1]
        with open_live(source, logs) as session:
            assert session.query("select count(*) as n from line").arrow.to_pydict() == {"n": [30]}


def test_masked_items_lie_in_the_shards_of_their_masks() -> None:
    with fresh() as source, fresh() as target:
        source.write_many(puts=LINES)
        target.create_table(logs)
        assert TableCopy(source, target, logs).run().written == len(LINES)
        copied = target.all(Line.of())
        assert [line.at for line in copied] == list(range(30))
        assert [copy.id for copy in copied] != [line.id for line in LINES]  # a short mask may be the id by chance
        assert target.all(Line.by_level("info")) == copied
        assert target.get(key_of(copied[3])) == copied[3]
        assert target.check(logs) == []


def test_a_slice_takes_the_item_of_a_shard_and_not_the_others_there() -> None:
    """A post belongs to the user of its address, who is found by an index over two shards."""
    with fresh() as source:
        source.write_many(puts=[User(id=f"u{n}", email=f"{n}@example.org") for n in range(20)])
        source.put(Post(id="p1", author="7@example.org"))
        (post,) = [item for item in source.run(all_items(source.port, "people")) if item["_type"] == {"S": "post"}]
        around = source.run(Slices(source.port, people).around([post]))
        assert sorted(item["id"]["S"] for item in around) == ["p1", "u7"]


def test_all_shards_are_erased_as_one_partition() -> None:
    with fresh() as db:
        db.write_many(puts=LINES)
        Erasure(db, logs).apply(Line.by_level("info", 3))
        assert [line.at for line in db.all(Line.of())] == [at for at in range(30) if at != 3]
        Erasure(db, logs).apply(Log.whole())
        assert db.all(Line.of()) == []


def test_values_behind_the_shard_are_those_of_the_partition() -> None:
    teams = Table("teams")

    class Entry(Entity, table=teams, type="entry"):
        team: str
        id: str

        @teams.key
        @staticmethod
        def of(team: str, id: str = ANY) -> Key:
            return f"entries#{id:shard(8)}#{team}", f"{id}"

    class Entries(Collection):
        entries: list[Entry]

        whole = collect(Entry.of)

    subject = root_of(teams, Entries.whole("blue")).subject
    assert subject is not None
    assert subject.values == {"team": "blue"}


def test_a_handler_and_a_check_know_it() -> None:
    changes, seen = Changes(logs), list[Any]()

    @changes.on(Line).inserted
    def inserted(change: Any) -> None:
        seen.append((change.key, change.new))

    with fresh() as db:
        db.create_table(logs)
        worker = ChangeWorker(db, changes)
        worker.drain()
        db.write_many(puts=LINES[:5])
        worker.drain()
        assert sorted(map(str, seen)) == sorted(str((key_of(line), line)) for line in LINES[:5])
        item = model_of(Line).item(LINES[7])
        db.run(put(db.port, {**item, "gsi1pk": {"S": "level#info#9"}}))
        assert [finding.code for finding in db.check(logs)] == ["index-key.stale"]


async def put(port: Any, item: Any) -> None:
    from tests.support.raw import put_raw

    await put_raw(port, Line, item)


async def test_the_studio_and_an_agent_page_through_all_shards() -> None:
    async with fresh_async() as db:
        await db.write_many(puts=LINES)
        async with visiting(db, logs) as visitor:
            page = await visitor.json("/patterns/logs/Line/by_level.json?level=info&run=1&limit=10")
            assert [(sent["operation"], sent["body"]["Limit"]) for sent in page["sent"]] == [("Query", 9)] * 4
            assert page["found"] == 10
            html = shown(await visitor.page(page["next"]))
            assert "l10" not in html
            following = await visitor.json(page["next"].replace("?", ".json?", 1))
            assert [row["values"][1] for row in following["results"][0]["rows"]] == list(range(10, 20))
        async with serving(db, logs) as (tell, tools):
            assert "1 request; without id, 8 a page, side by side" in tools["Line_of"].description
            found = await tell("Line_of", at={"at_least": 5}, page_limit=3)
            assert [item["at"] for item in found["items"]] == [5, 6, 7]
            found = await tell("Line_of", at={"at_least": 5}, page_limit=3, page_after=found["cursor"])
            assert [item["at"] for item in found["items"]] == [8, 9, 10]
            assert found["cost"]["requests"] == 8


def test_the_program_reads_and_explains_all_shards() -> None:
    with fresh() as db:
        db.write_many(puts=LINES)
        url = db.target.endpoint.url
        for words, said in (
            (["query", __name__, "Line.by_level", "info", "at=at-least:27", "--db", url, "--personal"], "l29"),
            (["explain", __name__, "Line.of"], "1 of 8 shards, side by side"),
        ):
            ran = CliRunner().invoke(program, words)
            assert ran.exit_code == 0, ran.output
            assert said in ran.output
