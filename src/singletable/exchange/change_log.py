"""The log of a followed export: batches of changes, each a file that is written once.

    exports/_changes/20261123T004403.123456Z-x7Kd2a.json

A batch has changes in any order, some of them twice or late: their sequence numbers say which of an item's is the
newest. A batch stays until a manifest says that its changes are in the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec
from msgspec import Raw, Struct

from singletable.errors import Corrupt
from singletable.exchange.stores import Store
from singletable.flow.instants import instant
from singletable.flow.port import Port
from singletable.foundation import Table
from singletable.operations import Item, read_item
from singletable.operations.stream import StreamRecord
from singletable.streams.record_tail import Position

FOLDER: Final = "_changes"
Place = tuple[str, str]
_NONE: Final = Raw()


_SHORT: Final = {"partition": "p", "sort": "s", "sequence": "n", "at": "t", "image": "i"}


class LoggedChange(Struct, frozen=True, rename=_SHORT, omit_defaults=True):
    """What an item became: its new image, or nothing where it was deleted."""

    partition: str
    sort: str
    sequence: str
    """Of two changes of one item, the later has the greater text."""
    at: float
    """About when it was written, in seconds since 1970, by the service's clock."""
    image: Raw = _NONE

    @property
    def place(self) -> Place:
        return self.partition, self.sort

    @property
    def item(self) -> Item | None:
        return read_item(self.image) if bytes(self.image) else None


class Batch(Struct, frozen=True):
    """Changes that were written to the log together."""

    stream: str
    """The ARN of the stream that they are from."""
    changes: list[LoggedChange]
    positions: dict[str, Position] = {}
    """How far the stream was read, by a reader of all its shards; empty from AWS Lambda."""
    complete_at: float | None = None
    """Every change from before this time, in seconds since 1970, is in this batch or was written before it."""


def logged(table: Table, record: StreamRecord) -> LoggedChange:
    """A record as the log has it."""
    images = record.dynamodb
    partition, sort = (str(images.keys[name]["S"]) for name in table.definition.key)
    image = images.new_image
    is_deleted = record.event == "REMOVE" or not bytes(image)
    at = images.approximate_creation_date_time
    return LoggedChange(partition, sort, record.sequence, at, _NONE if is_deleted else image.copy())


def name_of(port: Port) -> str:
    """A new name for a batch; names sort about as their times do."""
    now = instant(port.now())
    return f"{now:%Y%m%dT%H%M%S.%fZ}-{port.token()[:8]}"


def write_batch(store: Store, name: str, batch: Batch) -> None:
    """Add a batch to the log, durable when it returns. The same batch may be written again under its name."""
    store.write(f"{FOLDER}/{name}.json", msgspec.json.encode(batch))


def batches(store: Store, merged: Sequence[str]) -> Iterator[tuple[str, Batch]]:
    """The batches of the log with their paths, but for those that are merged. Corrupt for one that can't be read."""
    for path in sorted(store.list(f"{FOLDER}/")):
        is_draft = path.rpartition("/")[2].startswith(".")  # of a process that was killed, or writes just now
        if path not in merged and not is_draft:
            text = store.read(path)
            if text is not None:
                yield path, _read(store, path, text)


def _read(store: Store, path: str, text: bytes) -> Batch:
    try:
        return _decode(text)
    except msgspec.MsgspecError:
        raise Corrupt(
            f"{store.url}/{path} is no batch of changes",
            hint="Make the export anew: singletable export MODULE --to DIR --follow --anew.",
        ) from None


_decode = msgspec.json.Decoder(Batch).decode
