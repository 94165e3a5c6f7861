"""A copy as a job: a section is a segment of the source. The job lies in the target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from copy import copy
from functools import partial
from hashlib import scrypt
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import InvalidRequest
from singletable.exchange.masked_items import has_personal
from singletable.exchange.masks import Mask
from singletable.exchange.store_faults import exhausted
from singletable.exchange.table_copy import PAGE, CopyOptions, CopyRun
from singletable.flow import Port, patiently
from singletable.foundation import ready, scan_pages
from singletable.holds import TableGate
from singletable.jobs import JobKind, JobPlace, JobWork, Round, SectionLines
from singletable.jobs.inspect import segment_at

_SALT: Final = b"singletable: the masks of a copy as a job"
_LEFT = "stays behind: "
"""The prefix of counts of items that are not copied."""


class CopyJobOptions(Struct, frozen=True):
    """The options of a copy."""

    source: str = ""
    """Where the source is, as `--from` names it, for workers of the command line."""
    place: str = ""
    """The name that the source has for itself: a worker with another one is refused."""
    keep_personal: bool = False
    add: bool = False
    hold: bool | None = None
    mask: str = ""
    """A digest of the key of the masks, by which a worker with another key is refused."""


class CopyWork(JobWork):
    """Each item of a page is put into the target: unchanged, or with masks by a key that each worker has."""

    page = PAGE

    def __init__(self, place: JobPlace, options: CopyJobOptions) -> None:
        self.place, self.table = place, place.table
        self.options = replace(options, place=options.place or place.source_place)
        self._copy: CopyRun | None = None
        if place.source is None:
            raise InvalidRequest(
                "a copy reads another database, and none is given",
                table=self.table.name,
                operation="job",
                hint="Jobs(target, table, source=...); on the command line --from TARGET.",
            )
        if self.is_masked:
            self._take_key(place.mask_key)
        if self.options.place != place.source_place:
            raise InvalidRequest(
                f"the job copies {self.options.place}, and the given source is {place.source_place}",
                table=self.table.name,
                operation="job",
                hint="Give each worker the same source.",
            )
        self.source = place.source

    def scanned(self, port: Port) -> Port:
        return self.source

    async def first(self, port: Port) -> None:
        """Make the target ready, or refuse it, as the copy of one process does."""
        await ready(self.source, self.table)
        await self._run(port).begin()

    async def begin(self, port: Port) -> None:
        await ready(self.source, self.table)

    async def round(self, port: Port, section: int, of: int, position: Any, page: int) -> Round:
        source, segment = self.at_rate(self.source), segment_at(section, of, position)
        read = partial(scan_pages, source, self.table, [segment], page=page)
        with exhausted("copy"):
            (items,) = await patiently(source, read)
            run = self._run(port)
            written, left_out = await run.put(items.items)
            if self._copy is not None and run.is_held:
                self._copy.is_held = True
        counts = Counter({"written": written}) + Counter({_LEFT + name: count for name, count in left_out.items()})
        after = None if items.after is None else segment.moved(items.after).position
        return Round(after, items.after is None, len(items.items), counts)

    async def end(self, port: Port, told: SectionLines) -> Mapping[str, Any]:
        mended = await self._run(port).close()
        left = {name.removeprefix(_LEFT): n for name, n in told.counts.items() if name.startswith(_LEFT)}
        return {
            "read": told.seen,
            "written": told.counts.get("written", 0),
            "mended": mended,
            "left_out": left,
            "is_held": await TableGate(port, self.table).is_held(),
            "found": sum(left.values()),
        }

    def _run(self, port: Port) -> CopyRun:
        """The copy of this process, which knows whether the target is held, over the port of a section."""
        if self._copy is None:
            o, key = self.options, self.place.mask_key if self.is_masked else None
            options = CopyOptions(keep_personal=not self.is_masked, mask_key=key, add=o.add, hold=o.hold)
            self._copy = CopyRun(self.source, port, self.table, options, self.place.source_place, o.mask)
            if key is not None:
                self._copy.set_mask(key)
        run = copy(self._copy)  # sections run at the same time
        run.target = port
        run.recent = {}  # a round that failed is done again, and may have written none of its items
        return run

    @property
    def is_masked(self) -> bool:
        return has_personal(self.table) and not self.options.keep_personal

    def _take_key(self, key: bytes | None) -> None:
        """Keep a digest of the key. InvalidRequest without one, and for another one than the job was begun with."""
        if key is None:
            raise InvalidRequest(
                "a copy with masks as a job needs the key of the masks, the same for each worker",
                table=self.table.name,
                operation="job",
                hint="Jobs(..., mask_key=...), or SINGLETABLE_MASK_KEY; or keep_personal (--keep-personal).",
            )
        Mask(key)  # refused where it is too short
        digest = scrypt(key, salt=_SALT, n=2**14, r=8, p=1, dklen=16).hex()
        if self.options.mask not in ("", digest):
            raise InvalidRequest(
                "the job masks by another key than this worker has",
                table=self.table.name,
                operation="job",
                hint="Give each worker the same mask_key (SINGLETABLE_MASK_KEY).",
            )
        self.options = replace(self.options, mask=digest)


COPY = JobKind("copy", 1, CopyJobOptions, CopyWork)
