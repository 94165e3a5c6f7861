"""The write rules, cell by cell: each verb on a missing item, and on an item of another class."""

from __future__ import annotations

import pytest

from singletable import (
    ANY,
    AlreadyExists,
    ConditionFailed,
    Entity,
    InvalidRequest,
    Key,
    NotFound,
    OutcomeUnknown,
    Table,
    attr,
    key_of,
)
from tests.support.models import Invoice, User
from tests.support.raw import put_raw, stored
from tests.support.shells import Shell

ADA = User(email="ada@example.org", name="Ada", age=36, phone="12", groups={"a"}, tags=["x"])
KEY = User.by_email("ada@example.org")
FOREIGN = {"pk": {"S": KEY.partition}, "sk": {"S": KEY.low}, "_type": {"S": "alien"}, "_v": {"N": "1"}}

guarded = Table("guarded", overlap="guard")


class One(Entity, table=guarded, type="one"):
    id: str
    text: str = ""

    @guarded.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"thing#{id}", "thing"


class Other(Entity, table=guarded, type="other"):
    id: str

    @guarded.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"thing#{id}", "thing"


async def place_foreign(shell: Shell) -> None:
    await put_raw(shell.port, User, FOREIGN)


# --- create ---------------------------------------------------------------------------------------------------------
async def test_create_writes_where_there_is_nothing(shell: Shell) -> None:
    await shell.create(ADA)
    assert await shell.get(KEY) == ADA


async def test_create_never_overwrites(shell: Shell) -> None:
    await shell.create(ADA)
    with pytest.raises(AlreadyExists) as caught:
        await shell.create(User(email=ADA.email, name="Eve"))
    assert caught.value.key.low == KEY.low
    assert "Eve" not in str(caught.value)
    assert ADA.email not in str(caught.value)
    assert await shell.get(KEY) == ADA


async def test_create_over_another_class_is_refused(shell: Shell) -> None:
    await place_foreign(shell)
    with pytest.raises(AlreadyExists, match="another type"):
        await shell.create(ADA)
    assert await stored(shell.port, KEY) == FOREIGN


# --- put ------------------------------------------------------------------------------------------------------------
async def test_put_writes_and_overwrites_whole(shell: Shell) -> None:
    await shell.put(ADA)
    await shell.put(User(email=ADA.email, name="Ada L."))
    assert await shell.get(KEY) == User(email=ADA.email, name="Ada L.")


async def test_put_where_needs_an_item_that_meets_it(shell: Shell) -> None:
    with pytest.raises(ConditionFailed) as caught:
        await shell.put(ADA, where=attr(User.age) < 40)
    assert caught.value.stored is None
    await shell.put(ADA)
    await shell.put(User(email=ADA.email, age=50), where=attr(User.age) < 40)
    with pytest.raises(ConditionFailed, match=r"User\.age < \.\.\.") as caught:
        await shell.put(ADA, where=attr(User.age) < 40)
    assert caught.value.stored == User(email=ADA.email, age=50)
    assert "40" not in str(caught.value)


async def test_put_where_over_another_class_is_refused(shell: Shell) -> None:
    await place_foreign(shell)
    with pytest.raises(AlreadyExists):
        await shell.put(ADA, where=attr(User.age) < 40)
    assert await stored(shell.port, KEY) == FOREIGN


async def test_put_in_a_guarded_table_refuses_another_class(shell: Shell) -> None:
    await shell.put(One(id="1"))
    await shell.put(One(id="1", text="again"))
    with pytest.raises(AlreadyExists, match="another type"):
        await shell.put(Other(id="1"))
    assert await shell.get(One.by_id("1")) == One(id="1", text="again")
    assert await shell.get(Other.by_id("1")) is None


# --- update ---------------------------------------------------------------------------------------------------------
async def test_update_of_a_missing_item_leaves_no_ghost(shell: Shell) -> None:
    with pytest.raises(NotFound, match=r"there is no item with this key .*key User\.by_email"):
        await shell.update(KEY, attr(User.age).add(1))
    assert await stored(shell.port, KEY) is None


async def test_update_of_another_class_is_not_found(shell: Shell) -> None:
    await place_foreign(shell)
    with pytest.raises(NotFound):
        await shell.update(KEY, attr(User.name).set("Ada"))
    assert await stored(shell.port, KEY) == FOREIGN


async def test_update_returns_the_updated_item(shell: Shell) -> None:
    await shell.put(ADA)
    changed = await shell.update(
        KEY, attr(User.age).add(1), attr(User.groups).include({"b"}), attr(User.tags).append("y", "z")
    )
    assert (changed.age, changed.groups, changed.tags) == (37, {"a", "b"}, ["x", "y", "z"])
    assert await shell.get(KEY) == changed


async def test_update_where_names_what_is_stored(shell: Shell) -> None:
    await shell.put(ADA)
    with pytest.raises(ConditionFailed, match=r"User\.age >= \.\.\.") as caught:
        await shell.update(KEY, attr(User.name).set("x"), where=attr(User.age) >= 90)
    assert caught.value.stored == ADA
    assert await shell.get(KEY) == ADA


async def test_a_write_names_one_whole_key(shell: Shell) -> None:
    open_key = Invoice.of_user("ada@example.org", ANY)
    with pytest.raises(InvalidRequest, match="of its key is missing"):
        await shell.update(open_key, attr(Invoice.total).remove())  # type: ignore[misc]
    with pytest.raises(InvalidRequest, match="of its key is missing"):
        await shell.delete(open_key)
    with pytest.raises(InvalidRequest, match="at least one attribute"):
        await shell.update(KEY)


async def test_update_exactly_once_is_one_update(shell: Shell) -> None:
    await shell.put(ADA)
    changed = await shell.update(KEY, attr(User.age).add(1), exactly_once=True)
    assert changed.age == 37
    with pytest.raises(NotFound):
        await shell.update(User.by_email("nobody"), attr(User.age).add(1), exactly_once=True)
    with pytest.raises(ConditionFailed) as caught:
        await shell.update(KEY, attr(User.age).add(1), where=attr(User.age) > 90, exactly_once=True)
    assert caught.value.stored == changed


# --- upsert ---------------------------------------------------------------------------------------------------------
async def test_upsert_writes_a_missing_item_whole_with_its_index_keys(shell: Shell) -> None:
    assert await shell.upsert(ADA, attr(User.age).add(1), attr(User.groups).include({"b"})) == User(
        email=ADA.email, name="Ada", age=37, phone="12", groups={"a", "b"}, tags=["x"]
    )
    assert [user.age for user in await shell.all(User.by_phone("12"))] == [37]


async def test_upsert_applies_its_updates_to_what_is_there(shell: Shell) -> None:
    await shell.put(ADA)
    assert (await shell.upsert(User(email=ADA.email, age=0), attr(User.age).add(1))).age == 37


async def test_upsert_without_updates_sets_all_attributes(shell: Shell) -> None:
    await shell.put(ADA)
    fresh = User(email=ADA.email, name="New")
    assert await shell.upsert(fresh) == fresh
    assert await shell.get(KEY) == fresh
    assert await shell.all(User.by_phone("12")) == []


@pytest.mark.parametrize("with_updates", [False, True])
async def test_upsert_over_another_class_is_refused(shell: Shell, with_updates: bool) -> None:
    await place_foreign(shell)
    updates = [attr(User.age).add(1)] if with_updates else []
    with pytest.raises(AlreadyExists, match="another type"):
        await shell.upsert(ADA, *updates)
    assert await stored(shell.port, KEY) == FOREIGN


# --- delete ---------------------------------------------------------------------------------------------------------
async def test_delete_returns_the_deleted_item(shell: Shell) -> None:
    await shell.put(ADA)
    assert await shell.delete(KEY) == ADA
    assert await shell.delete(KEY) is None


async def test_delete_leaves_another_class_alone(shell: Shell) -> None:
    await place_foreign(shell)
    assert await shell.delete(KEY) is None
    assert await shell.delete(KEY, where=attr(User.age) == 1) is None
    assert await stored(shell.port, KEY) == FOREIGN


async def test_delete_where(shell: Shell) -> None:
    await shell.put(ADA)
    with pytest.raises(ConditionFailed) as caught:
        await shell.delete(KEY, where=attr(User.age) == 1)
    assert caught.value.stored == ADA
    assert await shell.delete(KEY, where=attr(User.age) == 36) == ADA


# --- several ----------------------------------------------------------------------------------------------------------
async def test_write_many_is_refused_where_keys_may_overlap(shell: Shell) -> None:
    with pytest.raises(InvalidRequest, match="guard"):
        await shell.write_many(puts=[One(id="1")])
    with pytest.raises(InvalidRequest, match="guard"):
        await shell.write_many(deletes=[One.by_id("1")])
    assert await shell.get(One.by_id("1")) is None


async def test_an_error_shows_the_pattern_never_the_values(shell: Shell) -> None:
    with pytest.raises(NotFound) as caught:
        await shell.update(KEY, attr(User.name).set("secret name"))
    shown = f"{caught.value!s} {caught.value!r}"
    assert "user#{email}" in shown
    assert "secret" not in shown
    assert "ada@" not in shown
    assert caught.value.key == key_of(ADA)
    assert not isinstance(caught.value, OutcomeUnknown)
