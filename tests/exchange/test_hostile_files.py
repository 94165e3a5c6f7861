"""Files that are none of their format, cut short, or far beyond what an item may be: named, and nothing breaks."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, Entity, InvalidRequest, Key, Table
from singletable.errors import Corrupt
from singletable.exchange import Exports, Imports
from singletable.exchange.formats import FORMATS, Format
from tests.support.engines import fresh
from tests.support.raw import all_items

boxes = Table("boxes")
LARGE = "é" * 190_000
"""Of an item just below 400 KB."""


class Box(Entity, table=boxes, type="box"):
    id: str
    body: str = ""
    count: int = 0
    free: Any = None

    @boxes.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One box."""
        return f"box#{id}", "box"


class Lid(Entity, table=boxes, type="lid"):
    """Of which there is none."""

    id: str

    @boxes.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One lid."""
        return f"lid#{id}", "lid"


@pytest.fixture(scope="module")
def db() -> Iterator[Database]:
    with fresh() as made:
        yield made


BAD_ROWS = [
    ('{"id": "a", "body": "' + "x" * 500_000 + '"}', "DynamoDB allows 409600"),
    ('{"id": "a", "free": "' + "[" * 5_000 + '"}', "its class can't read it"),  # too deep or cut short: Pythons differ
    ("[" * 100_000, "no JSON object"),
    ('{"id": "a", "count": 1e999999999}', "count: a whole number is wanted"),
    ('{"id": "a", "count": NaN}', "no JSON object"),
    ('{"id": "\\ud800"}', "no JSON object"),
    ('{"id": "a\\u0000"}', "control character"),
    ("[]", "no JSON object"),
]


@pytest.mark.parametrize(("line", "reason"), BAD_ROWS, ids=[line[:28] for line, _ in BAD_ROWS])
def test_a_line_is_bad_and_the_next_one_is_not(db: Database, tmp_path: Path, line: str, reason: str) -> None:
    (tmp_path / "boxes.jsonl").write_text(f'{line}\n{{"id": "{len(line)}"}}\n')
    done = Imports(db, boxes).run(tmp_path / "boxes.jsonl", into=Box, mode="replace")
    assert (done.written, done.bad) == (1, 1)
    (bad,) = done.bad_rows
    assert bad.number == 1
    assert reason in bad.reason


BROKEN: list[tuple[str, bytes, type[Exception], str]] = [
    ("a.json.gz", b"junk", Corrupt, "no gzip"),
    ("a.json.gz", gzip.compress(b'{"Item": {}}\n' * 100, mtime=0)[:40], Corrupt, "cut short"),
    ("a.parquet", b"PAR1junk", Corrupt, "can't be read"),
    ("a.parquet", b"", Corrupt, "can't be read"),
    ("a.arrow", b"", Corrupt, "can't be read"),
    ("a.csv", b"", Corrupt, "no header"),
    ("a.csv", b"id,id\n1,2\n", InvalidRequest, "two columns of one name: id"),
    ("a.csv", "id,body\n1,ok\n".encode("utf-16"), InvalidRequest, "columns that the class has not"),
    ("a.xlsx", b"PK", InvalidRequest, "its name says no format"),
]


@pytest.mark.parametrize(("name", "content", "error", "said"), BROKEN, ids=[f"{each[0]} {each[3]}" for each in BROKEN])
def test_a_file_that_is_none_is_named(
    db: Database, tmp_path: Path, name: str, content: bytes, error: type[Exception], said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(error, match=f"{name}.*{said}"):
        Imports(db, boxes).run(tmp_path / name, into=Box)


def test_a_parquet_file_that_was_changed_in_its_middle(db: Database, tmp_path: Path) -> None:
    with fresh() as source:
        source.write_many(puts=[Box(id=f"{n}", body=f"{n}" * 50) for n in range(200)])
        Exports(source, boxes).export(tmp_path)
    (file,) = tmp_path.rglob("box/*.parquet")
    content = bytearray(file.read_bytes())
    content[200:400] = bytes(200)
    file.write_bytes(content)
    with pytest.raises(Corrupt, match="can't be read"):
        Imports(db, boxes).run(file, into=Box)


@pytest.mark.parametrize("format", FORMATS)
def test_items_of_400_kb_and_classes_without_one(tmp_path: Path, format: Format) -> None:
    with fresh() as source, fresh() as target:
        for number in range(6):
            source.create(Box(id=f"{number}", body=LARGE))
        Exports(source, boxes).export(tmp_path, format=format, keys=True)
        assert Imports(target, boxes).run(tmp_path).written == 6
        for db in (source, target):
            assert len(db.run(all_items(db.port, "boxes"))) == 6
        assert target.get(Box.by_id("5")) == source.get(Box.by_id("5"))
