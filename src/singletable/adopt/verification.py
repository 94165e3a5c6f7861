"""Verification: each item of a table read by the classes of a module and made again, in memory.

Nothing is written to the table.
The state lies in a file next to the module, so that a run which was ended goes on. The outcome is one line of the
module itself: it goes where the module goes, is reviewed with it, and needs no file at run time.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Struct

from singletable.adopt.module_text import DOUBT, UNVERIFIED
from singletable.adopt.trial import ItemTrial, trial_of
from singletable.errors import InvalidRequest
from singletable.exchange import DirectoryStore
from singletable.flow import Port, patiently
from singletable.foundation import (
    PageRead,
    ResumableRun,
    ScanSegment,
    Table,
    advanced,
    all_segments,
    check_sample,
    place_in,
    sample_segments,
    scan_pages,
    usual_segments,
)
from singletable.operations import Item

_LINE = re.compile(r"^VERIFIED = [^\r\n]*", re.MULTILINE)
_MOST_TOLD = 200
"""The most differences that are counted apart."""


class VerifiedDifference(Struct, frozen=True):
    """Items that are made otherwise than stored, for one reason."""

    what: str
    count: int
    example: tuple[str, str]
    """The key of the first one."""


class Verified(Struct, frozen=True):
    """The findings of a verification so far."""

    items: int = 0
    exact: Mapping[str, int] = {}
    """The items that are made again attribute by attribute, by their type."""
    different: Sequence[VerifiedDifference] = ()
    unknown: VerifiedDifference | None = None
    """Items of no class."""
    undeclared: Mapping[str, int] = {}
    """Attributes that no class declares and a write leaves, with the number of items."""

    @property
    def covered(self) -> int:
        """The items that are of some class."""
        return sum(self.exact.values()) + sum(difference.count for difference in self.different)

    @property
    def percent(self) -> float:
        """The part of these that is made again, rounded down: 100 is all of them."""
        return sum(self.exact.values()) * 10_000 // max(self.covered, 1) / 100

    @property
    def is_whole(self) -> bool:
        """Whether each item of a class is made again unchanged, and there are such."""
        return bool(self.exact) and not self.different


class VerifyState(Struct, frozen=True):
    """The progress of a verification, and its subject."""

    of: str
    """A digest of the module, the place of the table, and the sample."""
    segments: tuple[ScanSegment, ...]
    verified: Verified = Verified()


class VerifyStore(Protocol):
    """Where a verification keeps its state."""

    async def read(self) -> bytes | None: ...

    async def write(self, state: VerifyState) -> None: ...

    async def close(self) -> None: ...


class VerifyFile:
    """The state in a file next to the module; of a sample in another one, so that it ends no run on every item."""

    def __init__(self, module: Path, sample: float | None = None) -> None:
        part = "" if sample is None else "-sample"
        self._store, self._name = DirectoryStore(module.parent), f"{module.name}.verifying{part}"

    async def read(self) -> bytes | None:
        return self._store.read(self._name)

    async def write(self, state: VerifyState) -> None:
        self._store.write(self._name, msgspec.json.encode(state))

    async def close(self) -> None:
        self._store.delete(self._name)


class VerifyRun(ResumableRun[VerifyState, Verified]):
    """One verification of a table, or of a sample of it."""

    def __init__(self, port: Port, table: Table, of: str, store: VerifyStore, sample: float | None, seed: int) -> None:
        check_sample(sample)
        self._port, self._table, self._sample, self._seed = port, table, sample, seed
        self._of, self._kept = f"{of} {table.name} {sample} {seed}", store
        self.store = store

    @property
    def is_over(self) -> bool:
        return not self.state.segments

    async def begin(self) -> None:
        kept = await self._kept.read()
        state = None if kept is None else _state_in(kept)
        if state is not None and state.of == self._of:
            self.state = state
            return
        count = usual_segments(self._port)
        seed = f"verify/{self._seed}"
        segments = all_segments(count) if self._sample is None else sample_segments(self._sample, seed)
        self.state = VerifyState(self._of, segments)

    async def round(self) -> None:
        port, table = self._port, self._table
        first = self.state.segments[: usual_segments(port)]
        pages: list[PageRead] = await patiently(port, partial(scan_pages, port, table, first, consistent=False))
        verified = self.state.verified
        for page in pages:
            verified = with_items(verified, table, page.items)
        self.state = VerifyState(self._of, advanced(self.state.segments, pages), verified)

    def told(self) -> Verified:
        return self.state.verified


def _state_in(kept: bytes) -> VerifyState | None:
    """The state in a file; None for one of another version."""
    try:
        return msgspec.json.decode(kept, type=VerifyState)
    except msgspec.MsgspecError:
        return None


def with_items(verified: Verified, table: Table, items: Sequence[Item]) -> Verified:
    """The findings with more items."""
    exact, undeclared = {**verified.exact}, {**verified.undeclared}
    different = {difference.what: difference for difference in verified.different}
    unknown = verified.unknown
    for item in items:
        trial = trial_of(table, item)
        for name in trial.undeclared:
            undeclared[f"{trial.type}.{name}"] = undeclared.get(f"{trial.type}.{name}", 0) + 1
        if trial.is_exact:
            exact[trial.type] = exact.get(trial.type, 0) + 1
        elif not trial.type:
            unknown = _one_more(unknown, "no class of the module has such an item", table, item)
        else:
            what = _what(trial, different)
            different[what] = _one_more(different.get(what), what, table, item)
    return Verified(verified.items + len(items), exact, tuple(different.values()), unknown, undeclared)


def _what(trial: ItemTrial, known: Mapping[str, VerifiedDifference]) -> str:
    what = f"{trial.type}: {trial.refused or ', '.join(trial.different) + ' would be written otherwise'}"
    return what if what in known or len(known) < _MOST_TOLD else f"{trial.type}: other differences"


def _one_more(before: VerifiedDifference | None, what: str, table: Table, item: Item) -> VerifiedDifference:
    if before is None:
        return VerifiedDifference(what, 1, place_in(table, item))
    return VerifiedDifference(what, before.count + 1, before.example)


# --- the module -------------------------------------------------------------------------------------------------------
def digest_of(source: str) -> str:
    """A digest of a module, without the line that a verification writes."""
    return hashlib.sha256(_LINE.sub("", source).encode()).hexdigest()[:16]


def doubts_in(source: str) -> list[str]:
    """The lines of a module that say what else a key may be."""
    return [line.strip() for line in source.splitlines() if line.strip().startswith(DOUBT.strip())]


def allowing_writes(source: str, verified: Verified, day: str) -> str:
    """A module with the line that allows writes. InvalidRequest for one that has no place for it."""
    return _with_line(source, f'VERIFIED = "{day}: {verified.covered:,} of {verified.covered:,} items"')


def refusing_writes(source: str) -> str:
    """A module with the line that refuses writes."""
    return _with_line(source, UNVERIFIED)


def replace_module(path: Path, read: str, source: str) -> None:
    """Write a module that was read. InvalidRequest for one that was edited since: another one was verified."""
    if digest_of(path.read_bytes().decode()) != digest_of(read):
        raise InvalidRequest(
            f"{path} was changed while its items were read: what was verified is another module",
            operation="verify",
            hint="Verify it again. Nothing was written to it.",
        )
    path.write_bytes(source.encode())


def _with_line(source: str, line: str) -> str:
    if len(_LINE.findall(source)) != 1:
        raise InvalidRequest(
            "the module has no line VERIFIED = ..., or several", hint="Verify a module that `singletable adopt` wrote."
        )
    return _LINE.sub(lambda _: line, source)


Progress = Callable[[Verified], object]


async def verify(run: VerifyRun, progress: Progress | None = None) -> Verified:
    """Run a verification to its end. A scan, eventually consistent: half a unit for each 4 KB."""
    return await run.run(progress)
