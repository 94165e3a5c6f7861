"""What a verb says of an argument of a wrong kind: what it expects, what it was given, and what to write instead."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from singletable import InvalidRequest, Table, attr, connect, connect_async
from tests.support.models import EPOCH, Membership, User
from tests.support.shells import Shell

ADA: Any = User.by_email("ada@example.org")
BY_EMAIL: Any = User.by_email
NAMES = {"a str": "ada", "None": None, "the class User": User, "a function that was not called, by_email": BY_EMAIL}


@pytest.mark.parametrize("verb", ["get", "page", "all"])
@pytest.mark.parametrize(("named", "given"), NAMES.items(), ids=lambda each: str(each)[:12])
async def test_a_read_takes_what_a_pattern_gives(shell: Shell, verb: str, named: str, given: Any) -> None:
    with pytest.raises(InvalidRequest, match=f"a key or a query is expected, not {named}. Call an access pattern"):
        await getattr(shell, verb)(given)


@pytest.mark.parametrize("given", ["ada", User, None, {"email": "ada"}])
async def test_a_write_takes_a_key_or_an_entity(shell: Shell, given: Any) -> None:
    by_key: list[Any] = [lambda: shell.delete(given), lambda: shell.update(given, attr(User.name).set("Ada"))]
    for write in by_key:
        with pytest.raises(InvalidRequest, match="a key or an entity is expected, not "):
            await write()
    for verb in ("put", "create", "upsert"):
        with pytest.raises(InvalidRequest, match="an entity is expected, not "):
            await getattr(shell, verb)(given)
    with pytest.raises(InvalidRequest, match="an entity is expected, not "):
        await shell.write_many(puts=[given])


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        (User, "Call an access pattern: User.by_email(email)."),
        (User(email="ada"), "Call an access pattern: User.by_email(email)."),
        (Membership.of_org, "Call an access pattern: Membership.of_org(org_id, created_at, email)."),
        ("ada", "Call an access pattern of its class."),
        (None, "Call an access pattern of its class."),
    ],
)
async def test_a_hint_names_the_class_that_was_meant(shell: Shell, given: Any, hint: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await shell.get(given)
    assert caught.value.hint == hint


async def test_a_query_of_an_index_is_no_key(shell: Shell) -> None:
    """Also where each part of the index's key is given: it may hold several."""
    for query in (Membership.of_org("o1"), Membership.of_org("o1", created_at=EPOCH)):
        keys: Any = query
        for verb in (shell.get, shell.delete, lambda key: shell.get_many([key])):
            with pytest.raises(InvalidRequest, match="index gsi1 may hold several") as caught:
                await verb(keys)
            assert "page(), iter() or all()" in caught.value.hint
            assert "Membership.of_user(email, org_id)" in caught.value.hint


async def test_an_update_takes_changes(shell: Shell) -> None:
    change: Any = {"name": "Ada"}
    with pytest.raises(InvalidRequest, match=r"a change of an attribute is expected, not a dict.*attr\(User.age\)"):
        await shell.update(ADA, change)


async def test_several_keys_are_several(shell: Shell) -> None:
    with pytest.raises(InvalidRequest, match=r"several keys are expected, not one.*Give a list"):
        await shell.get_many(ADA)
    keys: Any = ["ada"]
    with pytest.raises(InvalidRequest, match="a key or a query is expected, not a str"):
        await shell.get_many(keys)


async def test_a_scan_takes_a_class(shell: Shell) -> None:
    entity: Any = User(email="ada@example.org", name="Ada")
    with pytest.raises(InvalidRequest, match=r"a class of entities is expected, not a User. As in db.scan"):
        [each async for each in shell.scan(entity)]


@pytest.mark.parametrize("verb", ["create_table", "describe_table", "diff_table", "delete_table", "check"])
async def test_a_table_is_no_name(shell: Shell, verb: str) -> None:
    for given in ("users", User):
        with pytest.raises(InvalidRequest, match="a table is expected, not "):
            await getattr(shell, verb)(given)
    assert isinstance(User.by_email("a").model.table, Table)


def test_a_target_is_a_text() -> None:
    target: Any = None
    with pytest.raises(InvalidRequest, match="a target is a text, not None"):
        connect(target)


def test_an_entity_takes_names() -> None:
    kind: Any = User
    with pytest.raises(
        TypeError, match=r"User takes its attributes by name, .*write User\(email=\.\.\., name="
    ) as caught:
        kind("secret@example.org", name="Ada")
    assert "secret" not in str(caught.value)
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'email'"):
        kind()
    assert list(inspect.signature(User).parameters)[:2] == ["email", "name"]
    assert str(inspect.signature(User)).startswith("(*, email: ")


def test_an_attribute_is_changed_by_attr() -> None:
    age: Any = User.age
    with pytest.raises(TypeError, match=r"write attr\(User.age\).set\("):
        age.set(3)


async def test_after_close_the_error_says_so(shell: Shell) -> None:
    await shell.close()
    with pytest.raises(InvalidRequest, match=r"the database is closed. Call connect\(...\)"):
        await shell.get(ADA)


@pytest.mark.embedded("it opens a database of its own")
async def test_a_forgotten_await_is_named() -> None:
    async with connect_async("local") as db:
        forgotten: list[Any] = [db.get(ADA)]
        with pytest.warns(RuntimeWarning, match=r"'AsyncDatabase.get' was never awaited"):
            forgotten.clear()
        found: Any = db.get(ADA)
        with pytest.raises(InvalidRequest, match=r"not a call of get\(\) that was not awaited"):
            await db.put(found)
        found.close()


@pytest.mark.embedded('it is about connect("local")')
@pytest.mark.parametrize("how", ["spawn", "fork"])
def test_two_workers_in_memory_are_warned(how: str, tmp_path: Path) -> None:
    """Each worker has data of its own: nobody means that."""
    program = tmp_path / "server.py"
    program.write_text(_SERVER.format(how=how))
    ran = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=100, check=True)
    assert ran.stdout.split() == ["True", "False"]
    assert f'{program}:8: RuntimeWarning: connect("local") in one of several processes' in ran.stderr
    assert 'connect("local:data/app.db")' in ran.stderr


_SERVER = """
import multiprocessing, warnings
from singletable import connect

def work(target):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        connect(target).close()
    for each in warned:
        warnings.showwarning(each.message, each.category, each.filename, each.lineno)
    print(bool(warned), flush=True)

if __name__ == "__main__":
    connect("local").close()
    for target in ("local", "local:{{}}.db".format(__file__)):
        worker = multiprocessing.get_context("{how}").Process(target=work, args=(target,))
        worker.start()
        worker.join()
"""


@pytest.mark.embedded('it is about connect("local")')
def test_a_server_of_several_workers_is_warned() -> None:
    with pytest.warns(RuntimeWarning, match="one of several processes"):
        connect("local", environ={**os.environ, "WEB_CONCURRENCY": "2"}).close()
