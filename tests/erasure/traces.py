"""The places that hold a text: items, contents, bytes of the data file, exports; in each form that it may have."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path

from singletable import Database
from singletable.erasure import Receipt
from tests.support.raw import all_items

Hits = dict[str, set[str]]
"""The texts, by the place that holds them: `item of CLASS`, `content`, `data file`, `export`."""
SAID_AS = {"item of _sync_group": "client groups of sync"}
NAMED_BY = {
    "data file": ("the engine's data file", "stream records"),
    "export": ("exports and other systems",),
}


_RANDOM = re.compile(r"[0-9a-f]{12,}|\b[0-9a-f]{8,}(-[0-9a-f]+)*\b|[A-Za-z0-9+/]{40,}=*|'id': \{'S': '[^']{12}'\}")


def without_random(text: str) -> str:
    """A text without ids, tokens and digests: the letters of a name may be in one."""
    return _RANDOM.sub("", text)


def forms(text: str) -> Iterator[bytes]:
    """UTF-8, escaped as JSON is once and twice, hex, and base64 at each of its three alignments."""
    data = text.encode()
    once = json.dumps(text)[1:-1]
    yield from (data, once.encode(), json.dumps(once)[1:-1].encode(), data.hex().encode())
    for shift, cut in ((0, 0), (1, 2), (2, 3)):
        encoded = b64encode(bytes(shift) + data)[cut:]
        yield encoded[: len(encoded) - 4] if len(encoded) > 8 else encoded


def hits(db: Database, folder: Path, tables: Sequence[str], texts: Sequence[str]) -> Hits:
    """The places of texts. `folder` has the data file in `data`, contents in `blobs`, exports in `exports`,
    and one that was made after an erasure in `again`."""
    wanted = {text: [*forms(text)] for text in texts}
    found: Hits = {}
    for place, data in _places(db, folder, tables):
        if named := {text for text, shapes in wanted.items() if any(shape in data for shape in shapes)}:
            found.setdefault(place, set()).update(named)
    return found


def _places(db: Database, folder: Path, tables: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    for table in tables:
        for item in db.run(all_items(db.port, table)):
            name = next((item[each]["S"] for each in ("_type", "type", "_t") if each in item), "?")
            yield f"item of {name}", json.dumps(item, ensure_ascii=False).encode()
    for file in folder.rglob("*"):
        if file.is_file():
            data, kind = file.read_bytes(), file.relative_to(folder).parts[0]
            place = {"data": "data file", "blobs": "content", "exports": "export", "again": "contents of an export"}[
                kind
            ]
            if kind == "again" and not file.parent.name.endswith(("_change", "_arguments")):
                continue  # its items are looked at where they lie
            yield place, str(file).encode() + (gzip.decompress(data) if file.suffix == ".gz" else data)


def unnamed(found: Hits, receipt: Receipt) -> Hits:
    """The places that a receipt does not name."""
    remaining = {place.where for place in receipt.remaining}
    said = " ".join([*remaining, *(kept.kind for kept in receipt.kept), *receipt.left_out])
    return {
        place: texts
        for place, texts in found.items()
        if not remaining.issuperset(NAMED_BY.get(place, ("nothing",)))
        and SAID_AS.get(place, place.removeprefix("item of ")).lower() not in said.lower()
    }
