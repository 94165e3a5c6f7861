"""What a verb says of an argument of a wrong kind: what it expects, what it was given, and what to write instead."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import InvalidRequest, Table, attr, connect
from tests.support.models import User
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
