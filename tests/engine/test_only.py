"""only(): some of the attributes, and never half an entity in silence."""

from __future__ import annotations

import pytest

from singletable import Entity, InvalidRequest, Key, Table, attr, field, key_of
from singletable.errors import Corrupt
from tests.support.models import Membership, Note, User, app, membership
from tests.support.raw import put_raw
from tests.support.shells import Shell

ADA = User(email="ada@example.org", name="Ada", age=36, groups={"a"})
KEY = key_of(ADA)

small = Table("small", indexes=["gsi1"])


class Thing(Entity, table=small, type="thing", version=2):
    id: str
    text: str = ""
    more: str = field(name="m.o-r[e", default="")

    @small.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"thing#{id}", "thing"


@Thing.upcast(1)
def with_text(item: dict[str, object]) -> dict[str, object]:
    return {**item, "text": "upcast"}


async def test_what_was_not_loaded_has_no_value(shell: Shell) -> None:
    await shell.put(ADA)
    part = await shell.get(KEY.only(User.name, User.groups))
    assert part is not None
    assert (part.name, part.groups) == ("Ada", {"a"})
    with pytest.raises(AttributeError, match="age"):
        _ = part.age
    assert repr(part) == "User(name='Ada', groups={'a'})"


async def test_what_is_absent_reads_as_it_does_in_the_whole(shell: Shell) -> None:
    await shell.put(User(email=ADA.email))
    part = await shell.get(KEY.only(User.phone, User.groups))
    assert part is not None
    assert (part.phone, part.groups) == (None, set())


async def test_a_part_is_never_written_as_the_whole(shell: Shell) -> None:
    await shell.put(ADA)
    (part,) = await shell.all(User.by_email(ADA.email).only(User.email, User.age))
    for write in (shell.put, shell.create, shell.upsert):
        with pytest.raises(InvalidRequest, match="was not loaded"):
            await write(part)
    with pytest.raises(InvalidRequest, match="was not loaded"):
        await shell.write_many(puts=[part])
    with pytest.raises(InvalidRequest, match="was not loaded"):
        async with shell.transaction() as tx:
            tx.put(part)
    assert await shell.get(KEY) == ADA


async def test_a_part_without_its_key_is_no_way_to_the_item(shell: Shell) -> None:
    await shell.put(ADA)
    (part,) = await shell.all(User.by_email(ADA.email).only(User.age))
    with pytest.raises(InvalidRequest, match="email"):
        key_of(part)
    with pytest.raises(InvalidRequest, match="was not loaded"):
        await shell.put(part)


async def test_pages_of_parts_have_cursors(shell: Shell) -> None:
    members = [membership(n) for n in range(12)]
    await shell.write_many(puts=members)
    query = Membership.of_user(ADA.email).only(Membership.org_id)
    first = await shell.page(query, limit=5)
    rest = await shell.page(query, limit=25, after=first.cursor)
    assert [m.org_id for m in [*first, *rest]] == [m.org_id for m in members]
    by_org = await shell.page(Membership.of_org("o0001").only(Membership.role), limit=1)
    assert [m.role for m in by_org] == ["member"]


async def test_a_filter_may_use_what_is_not_loaded(shell: Shell) -> None:
    await shell.write_many(puts=[membership(n) for n in range(12)])
    query = Membership.of_user(ADA.email).where(attr(Membership.org_id) == "o0004").only(Membership.role)
    assert [m.role for m in await shell.all(query)] == ["member"]
    page = await shell.page(query, limit=1)
    assert [m.role for m in page] == ["member"]


async def test_the_wrong_class_is_still_nothing(shell: Shell) -> None:
    await put_raw(shell.port, User, {"pk": {"S": KEY.partition}, "sk": {"S": KEY.low}, "_type": {"S": "alien"}})
    assert await shell.get(KEY.only(User.name)) is None
    assert await shell.all(KEY.only(User.name)) == []


async def test_an_older_item_is_not_read_in_part(shell: Shell) -> None:
    old = {"pk": {"S": "thing#1"}, "sk": {"S": "thing"}, "_type": {"S": "thing"}, "_v": {"N": "1"}, "id": {"S": "1"}}
    await put_raw(shell.port, Thing, old)
    assert await shell.get(Thing.by_id("1")) == Thing(id="1", text="upcast")
    with pytest.raises(Corrupt, match=r"without only"):
        await shell.get(Thing.by_id("1").only(Thing.text))


async def test_stored_names_that_look_like_paths(shell: Shell) -> None:
    await shell.put(Thing(id="1", more="x"))
    part = await shell.get(Thing.by_id("1").only(Thing.more))
    assert part is not None
    assert part.more == "x"


def test_only_takes_attributes_of_what_is_read() -> None:
    with pytest.raises(InvalidRequest, match="takes attributes"):
        KEY.only("name")
    with pytest.raises(InvalidRequest, match="at least one"):
        KEY.only()
    with pytest.raises(InvalidRequest, match="not an attribute"):
        KEY.only(Note.text)
    with pytest.raises(InvalidRequest, match="not an attribute"):
        KEY.only(User.address.city)  # type: ignore[union-attr]
    with pytest.raises(InvalidRequest, match="not an attribute"):
        User.by_email("x").also(Note).only(User.name)
    assert User in {m.kind for m in app.models}
