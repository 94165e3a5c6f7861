"""Tags: names of versions, given once."""

from __future__ import annotations

import pytest

from singletable import AlreadyExists, InvalidRequest, InvalidValue, NotFound
from tests.documents.models import rename
from tests.documents.shells import World


async def test_a_version_is_read_by_its_name(world: World) -> None:
    await world.docs.create("o1", "p1", name="zero")
    await world.docs.apply("p1", [rename(name="one").by("c", 1)])
    made = await world.docs.tag("p1", "release/1 é#")
    await world.docs.tag("p1", "begin", version=0)
    await world.docs.apply("p1", [rename(name="two").by("c", 2)])
    assert (made.name, made.number) == ("release/1 é#", 1)
    assert (await world.docs.at("p1", tag="release/1 é#")).name == "one"
    assert [(tag.name, tag.number) for tag in await world.docs.tags("p1")] == [("begin", 0), ("release/1 é#", 1)]
    page = await world.docs.tags("p1", limit=1)
    assert [tag.name for tag in await world.docs.tags("p1", after=page.cursor)] == ["release/1 é#"]
    with pytest.raises(AlreadyExists, match="untag"):
        await world.docs.tag("p1", "begin")
    await world.docs.untag("p1", "begin")
    await world.docs.untag("p1", "begin")
    assert (await world.docs.tag("p1", "begin")).number == 2


async def test_what_has_no_name(world: World) -> None:
    await world.docs.create("o1", "p1")
    with pytest.raises(NotFound, match="tag 'v1'"):
        await world.docs.at("p1", tag="v1")
    with pytest.raises(InvalidRequest, match="a version, a time or a tag"):
        await world.docs.at("p1", tag="v1", version=1)
    for verb in (world.docs.tag("p9", "v1"), world.docs.untag("p9", "v1"), world.docs.tags("p9")):
        with pytest.raises(NotFound):
            await verb
    with pytest.raises(NotFound, match="version 5"):
        await world.docs.tag("p1", "v1", version=5)
    for name in ("", "x" * 300):
        with pytest.raises(InvalidValue):
            await world.docs.tag("p1", name)
    for name in ("v1", "1", "x" * 256):
        await world.docs.tag("p1", name)
    await world.docs.delete("p1")
    with pytest.raises(NotFound):
        await world.docs.at("p1", tag="v1")
