"""A mutation that goes wrong in the worst ways is rejected by itself: its id is spent, and all others are applied."""

from __future__ import annotations

import json
import subprocess
import sys
import threading  # noqa: TID251 what a mutation hangs in
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from obstore.store import MemoryStore

from singletable import Table
from singletable.documents import (
    AsyncDocuments,
    Bounds,
    Document,
    Documents,
    Draft,
    Items,
    LocalBlobs,
    Mutation,
    ObjectBlobs,
)
from singletable.errors import Denied, Unavailable
from tests.documents.shells import Disguised
from tests.support.engines import fresh, fresh_async

app = Table("poison-test", indexes=["gsi1"])
BOUNDS = Bounds(seconds=0.5, argument_bytes=20_000, result_bytes=100_000, changes=100)


class Project(Document, table=app, index="gsi1", bounds=BOUNDS):
    name: str = ""
    texts: Items[str]


class Untellable(Exception):
    def __init__(self, then: Callable[[], Any]) -> None:
        super().__init__()
        self.then = then

    def __str__(self) -> str:
        return str(self.then())


class Leaves(BaseException):
    """No Exception, as those of a library may be that ends threads in its own way."""


OVER = [threading.Event()]
"""Set when the test is over that runs."""


@pytest.fixture(autouse=True)
def nothing_turns_on() -> Iterator[None]:
    """A mutation that its test did not end ends with it, or all tests that follow would share the processor with it."""
    OVER[0] = threading.Event()
    yield
    OVER[0].set()


def turn_for_ever(over: threading.Event | None = None) -> None:
    over = over or OVER[0]
    while not over.is_set():
        continue


def raise_it(error: BaseException) -> None:
    raise error


@Project.mutation
def rename(draft: Draft[Project], *, name: str) -> None:
    draft.name = name


@Project.mutation
def put(draft: Draft[Project], *, id: str, text: str) -> None:
    draft.texts[id] = text


@Project.mutation
def repeat(draft: Draft[Project], *, text: str, count: int) -> None:
    draft.name = (text * count)[:10]


@Project.mutation
def from_json(draft: Draft[Project], *, text: str) -> None:
    raise ValueError(f"bad name {json.loads(text)}")


@Project.mutation
def fill(draft: Draft[Project], *, count: int, width: int = 0, same: bool = False) -> None:
    for number in range(count):
        draft.texts["same" if same else str(number)] = "x" * width


@Project.mutation
def fill_in_spite(draft: Draft[Project], *, count: int) -> None:
    """Goes on after what it is told."""
    for number in range(count):
        try:
            draft.texts[str(number)] = ""
        except ValueError:
            draft.name = "in spite"


@Project.mutation
def refuse_to_end(draft: Draft[Project]) -> None:
    over = OVER[0]
    for _ in range(20):
        try:
            turn_for_ever(over)
        except BaseException:
            draft.name = "in spite"


HANGS = threading.Event()


@Project.mutation
def hang(draft: Draft[Project]) -> None:
    HANGS.wait(60)
    draft.name = "afterwards"


WORST: dict[str, Callable[[], object]] = {
    "no memory": lambda: raise_it(MemoryError()),
    "no stack": lambda: raise_it(RecursionError()),
    "exit": lambda: sys.exit("bad"),
    "an exit of its own": lambda: raise_it(Leaves("bad")),
    "the end of a generator": lambda: raise_it(GeneratorExit()),
    "half a character": lambda: raise_it(ValueError("half \ud800 a character")),
    "no text": lambda: raise_it(Untellable(lambda: raise_it(RuntimeError()))),
    "no memory for a text": lambda: raise_it(Untellable(lambda: "x" * 10**15)),
    "a text that exits": lambda: raise_it(Untellable(sys.exit)),
    "a text without an end": lambda: raise_it(Untellable(turn_for_ever)),
    "without an end": turn_for_ever,
    "what the library raises": lambda: raise_it(Unavailable("made up")),
    "what the library denies": lambda: raise_it(Denied("made up")),
}


@Project.mutation
def go_wrong(draft: Draft[Project], *, how: str) -> None:
    draft.name = "half done"
    draft.texts["half"] = "done"
    WORST[how]()


@pytest.fixture
async def docs(kind: str, tmp_path: Path) -> AsyncIterator[AsyncDocuments[Project]]:
    """Both shells; what is left is sound."""
    if kind == "awaiting":
        async with fresh_async() as adb:
            made = AsyncDocuments(adb, Project, blobs=LocalBlobs(tmp_path))
            yield made
            assert await made.check("p1") == []
    else:
        with fresh() as db:
            disguised: Any = Disguised(Documents(db, Project, blobs=LocalBlobs(tmp_path)))
            yield disguised
            assert await disguised.check("p1") == []


async def rejected(docs: AsyncDocuments[Project], poison: Mutation) -> str:
    """The reason for which a mutation is rejected while all others are applied, those of its client too."""
    await docs.create("o1", "p1")
    await docs.submit("p1", [poison.by("evil", 1), put(id="e", text="later").by("evil", 2)])
    await docs.submit("p1", [rename(name="good").by("ada", 1)])
    found = {(each.client, each.id): each for each in await docs.process("p1")}
    assert {place: each.status for place, each in found.items()} == {
        ("evil", 1): "rejected",
        ("evil", 2): "applied",
        ("ada", 1): "applied",
    }
    head = await docs.head("p1")
    assert (head.name, list(head.texts)) == ("good", ["e"])
    assert await docs.process("p1") == []
    reason: str | None = found["evil", 1].error
    assert reason
    assert reason.encode()
    assert len(reason) <= 500
    return reason


@pytest.mark.parametrize("how", WORST)
async def test_whatever_a_mutation_raises_it_is_rejected(docs: AsyncDocuments[Project], how: str) -> None:
    assert await rejected(docs, go_wrong(how=how))


@pytest.mark.parametrize(
    ("poison", "said"),
    [
        (repeat(text="x", count=10**15), "MemoryError"),
        (from_json(text='"\\ud800"'), "ValueError: bad name \\ud800"),
        (fill(count=10**15), "over 100 times"),
        (fill(count=10**15, same=True), "over 100 times"),
        (fill(count=90, width=2_000), "over 100000 bytes"),
        (fill_in_spite(count=10**4), "over 100 times"),
        (put(id="x", text="y" * 20_000), "arguments are over 20000 bytes"),
        (refuse_to_end(), "over 0.5 seconds"),
        (hang(), "over 0.5 seconds"),
    ],
    ids=lambda value: value.name if isinstance(value, Mutation) else "",
)
async def test_what_passes_a_bound_is_rejected(docs: AsyncDocuments[Project], poison: Mutation, said: str) -> None:
    try:
        assert said in await rejected(docs, poison)
    finally:
        HANGS.set()
        HANGS.clear()


async def test_what_is_within_its_bounds_is_applied(docs: AsyncDocuments[Project]) -> None:
    await docs.create("o1", "p1")
    found = await docs.apply("p1", [fill(count=100, width=900).by("a", 1), put(id="y", text="y" * 19_000).by("a", 2)])
    assert [each.status for each in found] == ["applied", "applied"]


def test_an_interrupt_is_the_process_own() -> None:
    """And nothing is decided by it."""
    interrupts = [KeyboardInterrupt()]
    WORST["interrupt"] = lambda: raise_it(interrupts.pop()) if interrupts else None
    try:
        with fresh() as db:
            docs = Documents(db, Project, blobs=ObjectBlobs(MemoryStore()))
            docs.create("o1", "p1")
            docs.submit("p1", [go_wrong(how="interrupt").by("a", 1)])
            with pytest.raises(KeyboardInterrupt):
                docs.process("p1")
            assert docs.last_ids("p1", ["a"]) == {"a": 0}
            assert [each.status for each in docs.process("p1")] == ["applied"]
    finally:
        del WORST["interrupt"]


class Slow(ObjectBlobs):
    """A store that takes longer than a mutation may."""

    def get(self, path: str, most: int) -> bytes | None:
        threading.Event().wait(0.8)
        return super().get(path, most)


def test_the_time_for_reading_contents_is_not_the_mutations() -> None:
    class Copied(Document, table=Table("poison-slow"), bounds=BOUNDS):
        texts: Items[str]

    @Copied.mutation
    def write(draft: Draft[Copied]) -> None:
        draft.texts["a"] = "a"
        draft.texts["b"] = "b"

    @Copied.mutation
    def copy(draft: Draft[Copied]) -> None:
        draft.texts["c"] = "".join(draft.texts.all().values()) + draft.texts["a"]

    with fresh() as db:
        docs = Documents(db, Copied, blobs=Slow(MemoryStore()))
        docs.create("o1", "p1")
        docs.apply("p1", [write().by("a", 1)])
        (found,) = docs.apply("p1", [copy().by("a", 2)])
        assert (found.status, found.error) == ("applied", None)
        assert docs.head("p1").texts["c"] == "aba"


class Failing(ObjectBlobs):
    """A store that raises what the library doesn't know, until it is mended."""

    error: BaseException | None = None

    def get(self, path: str, most: int) -> bytes | None:
        if self.error is not None:
            raise self.error
        return super().get(path, most)


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("can't start new thread"), ConnectionResetError("secret"), KeyError("x")]
)
def test_an_unknown_error_of_the_blob_store_rejects_nothing(error: Exception) -> None:
    class Stored(Document, table=Table("poison-store"), bounds=BOUNDS):
        texts: Items[str]

    @Stored.mutation
    def write(draft: Draft[Stored]) -> None:
        draft.texts["a"] = "a"

    @Stored.mutation
    def take(draft: Draft[Stored]) -> None:
        draft.texts.pop("a")

    blobs = Failing(MemoryStore())
    with fresh() as db:
        docs = Documents(db, Stored, blobs=blobs)
        docs.create("o1", "p1")
        docs.apply("p1", [write().by("a", 1)])
        docs = Documents(db, Stored, blobs=blobs)
        blobs.error = error
        with pytest.raises(Unavailable, match=f"could not be read: {type(error).__name__} ") as raised:
            docs.apply("p1", [take().by("a", 2)])
        assert "secret" not in str(raised.value)
        blobs.error = None
        assert [(found.id, found.status) for found in docs.process("p1")] == [(2, "applied")]
        assert docs.check("p1") == []


LIMITED = """
import resource, sys
from obstore.store import MemoryStore
from singletable import connect
from singletable.documents import Documents, ObjectBlobs
from tests.documents.test_poison import Project, rename, repeat

with connect("local") as db:
    docs = Documents(db, Project, blobs=ObjectBlobs(MemoryStore()))
    docs.create("o1", "p1")
    docs.submit("p1", [repeat(text="x", count=3 << 30).by("evil", 1), rename(name="good").by("ada", 1)])
    resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
    print(*[f"{each.client} {each.status} {each.error}" for each in docs.process("p1")], docs.head("p1").name)
"""


@pytest.mark.embedded("the program of limited memory starts its own")
@pytest.mark.skipif(sys.platform != "linux", reason="the limit of an address space")
def test_in_a_process_of_limited_memory_a_mutation_that_wants_more_is_rejected() -> None:
    ran = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, check=False)
    assert ran.stdout.strip() == "ada applied None evil rejected MemoryError:  good", ran.stderr


def test_a_bound_is_above_zero() -> None:
    with pytest.raises(TypeError, match="seconds"):
        Bounds(seconds=0)
