"""Files that are none of their format, cut short, or far beyond what an item may be: named, and nothing breaks."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from singletable import Database, Entity, InvalidRequest, Key, Table
from singletable.errors import Corrupt
from singletable.exchange import Exports, Imports
from singletable.exchange.arrow_rows import _UNMEASURED, _bytes_of
from singletable.exchange.datasets import datasets_of
from singletable.exchange.foreign_text import lines_of
from singletable.exchange.formats import FORMATS, Format
from singletable.exchange.import_files import Unknown, format_of, rows_of, rows_of_columns
from tests.exchange import bombs, reading
from tests.exchange.bombs import MEGABYTE, lists, once, packed, zipped
from tests.support.children import run_child
from tests.support.engines import fresh
from tests.support.raw import all_items
from tests.support.sampling import sampled

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
    ("[" * 100_000, "not a JSON object"),
    ('{"id": "a", "count": 1e999999999}', "count: a whole number is wanted"),
    ('{"id": "a", "count": NaN}', "not a JSON object"),
    ('{"id": "\\ud800"}', "not a JSON object"),
    ('{"id": "a\\u0000"}', "control character"),
    ("[]", "not a JSON object"),
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
    ("a.json.gz", b"junk", Corrupt, "not gzip"),
    ("a.json.gz", gzip.compress(b'{"Item": {}}\n' * 100, mtime=0)[:40], Corrupt, "cut short"),
    ("a.parquet", b"PAR1junk", Corrupt, "can't be read"),
    ("a.parquet", b"", Corrupt, "can't be read"),
    ("a.arrow", b"", Corrupt, "can't be read"),
    ("a.csv", b"", Corrupt, "no header"),
    ("a.csv", b"id,id\n1,2\n", InvalidRequest, "two columns of one name: id"),
    ("a.csv", "id,body\n1,ok\n".encode("utf-16"), Corrupt, "is UTF-16"),
    ("a.jsonl", '{"id": "1"}\n'.encode("utf-16"), Corrupt, "is UTF-16"),
    ("a.csv", "id,Größe\n1,ok\n".encode("latin-1"), Corrupt, "is not UTF-8"),
    ("a.csv", b"id;body;count\n1;ok;2\n", InvalidRequest, "semicolons"),
    ("a.csv", b"id\tbody\n1\tok\n", InvalidRequest, "tabs"),
    ("a.csv", ",".join(f"c{n}" for n in range(40_000)).encode(), InvalidRequest, "has 40,000 columns; at most 10,000"),
    ("a.csv", ",".join(f"c{n}" for n in range(9_000)).encode(), InvalidRequest, "c8, c9 and 8,990 more"),
    ("a.xlsx", b"PK", InvalidRequest, "its name has no known format"),
]


@pytest.mark.parametrize(("name", "content", "error", "said"), BROKEN, ids=[f"{each[0]} {each[3]}" for each in BROKEN])
def test_a_file_that_is_none_is_named(
    db: Database, tmp_path: Path, name: str, content: bytes, error: type[Exception], said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    choices: tuple[Unknown, ...] = ("refuse", "report") if error is Corrupt else ("refuse",)
    for unknown in choices:
        with pytest.raises(error, match=f"{name}.*{said}"):
            Imports(db, boxes).run(tmp_path / name, into=Box, unknown=unknown)


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


ROOM = "700"
"""Megabytes to read in."""
SIZES = [(suffix, size) for suffix in (".parquet", ".arrow") for size in (50 * MEGABYTE, 300_000)]
"""A value too large for an item, and one as large as an item may be."""


@pytest.mark.parametrize(("suffix", "size"), sampled(SIZES, 3))
def test_a_value_that_stands_once_is_not_written_out_for_all_rows(tmp_path: Path, suffix: str, size: int) -> None:
    """11 KB of Parquet took 4.6 GB."""
    path = packed(tmp_path / f"bomb{suffix}", "body", once(4_000, size))
    assert run_child(reading.read, str(path), ROOM, "4000") == 0


@pytest.mark.soak
def test_nor_where_it_is_in_lists(tmp_path: Path) -> None:
    path = packed(tmp_path / "bomb.parquet", "tags", lists(once(4_000, 50 * MEGABYTE)))
    assert run_child(reading.read, str(path), ROOM, "4000") == 0


def test_a_long_line_is_passed_over_unread(tmp_path: Path) -> None:
    """3 MB of gzip took 3.2 GB."""
    assert run_child(reading.read, str(zipped(tmp_path / "bomb.json.gz", 750)), ROOM, "2") == 0


@pytest.mark.soak
def test_pages_of_large_rows_are_short(tmp_path: Path) -> None:
    """Each row is as large as one may be: 500 of them would be 4 GB."""
    with gzip.open(tmp_path / "bomb.json.gz", "wb", compresslevel=1) as file:
        for _ in range(100):
            file.write(b'{"Item":{"a":{"S":"' + b"x" * (8 * MEGABYTE - 100) + b'"}}}\n')
    assert run_child(reading.read, str(tmp_path / "bomb.json.gz"), ROOM, "100") == 0


@pytest.mark.soak
def test_pages_of_rows_that_are_larger_in_memory_are_short(tmp_path: Path) -> None:
    """An empty object has 3 bytes in a file, and 72 in memory."""
    line = b'{"Item":{"tags":{"L":[' + b"{}," * (8 * MEGABYTE // 3 - 100) + b"{}]}}}\n"
    with gzip.open(tmp_path / "bomb.json.gz", "wb", compresslevel=1) as file:
        for _ in range(5):
            file.write(line)
    assert run_child(reading.read, str(tmp_path / "bomb.json.gz"), ROOM, "5") == 0


def test_rows_that_no_item_can_be_are_named(db: Database, tmp_path: Path) -> None:
    path = packed(tmp_path / "bomb.parquet", "body", once(3, 40 * MEGABYTE))
    done = Imports(db, bombs.boxes).run(path, into=bombs.Box, dry_run=True)
    assert [(each.number, "more than 8 MB" in each.reason) for each in done.bad_rows] == [(n, True) for n in (1, 2, 3)]
    zipped(tmp_path / "bomb.json.gz", 9)
    done = Imports(db, bombs.boxes).run(tmp_path / "bomb.json.gz", dry_run=True)
    assert "more than 8 MB" in done.bad_rows[0].reason
    assert "more than 8 MB" not in done.bad_rows[1].reason


def test_a_column_that_unpacks_to_a_thousand_times_its_size_is_named(db: Database, tmp_path: Path) -> None:
    column = pa.array(["x" * MEGABYTE] * 300)
    path = packed(tmp_path / "a.parquet", "body", column, use_dictionary=False)
    with pytest.raises(Corrupt, match=r"a.parquet: the column body unpacks from [\d,]+ bytes to 314,"):
        Imports(db, bombs.boxes).run(path, into=bombs.Box)


@pytest.mark.parametrize("compression", sampled(["zstd", "lz4"], 2))
def test_so_is_a_batch_of_arrow(db: Database, tmp_path: Path, compression: str) -> None:
    """2 MB took 1.1 GB: a batch is unpacked as a whole."""
    for column in (pa.array(["x" * MEGABYTE] * 300), once(3, 300 * MEGABYTE)):
        path = packed(tmp_path / "a.arrow", "body", column, compression=compression)
        with pytest.raises(Corrupt, match=r"a.arrow: a batch unpacks from [\d,]+ bytes to 314,"):
            Imports(db, bombs.boxes).run(path, into=bombs.Box)


def test_batches_of_arrow_that_its_footer_alone_names_are_missed(db: Database, tmp_path: Path) -> None:
    path = packed(tmp_path / "a.arrow", "body", pa.array(["a"]))
    content = bytearray(path.read_bytes())
    second = content.index(b"\xff\xff\xff\xff", 12)
    content[second + 4 : second + 8] = bytes(4)  # the end of the stream
    path.write_bytes(content)
    with pytest.raises(Corrupt, match=r"a.arrow.*names 1 batches, and 0 are there"):
        Imports(db, bombs.boxes).run(path, into=bombs.Box)


@pytest.mark.parametrize("compression", ["zstd", "lz4", None])
def test_batches_of_arrow_are_read_whatever_packs_them(tmp_path: Path, compression: str | None) -> None:
    column = pa.array(["a", None, "b"] * 10_000)
    path = packed(tmp_path / "a.arrow", "body", column.dictionary_encode(), compression=compression)
    rows = list(rows_of_columns(path, "arrow", {"id": pa.string(), "body": pa.string()}))
    assert [(row.cells or {})["body"] for row in rows] == column.to_pylist()


def test_a_wide_header_is_refused_at_once(tmp_path: Path) -> None:
    """40,000 columns took 37 seconds: each was looked for among all."""
    (tmp_path / "a.csv").write_text(",".join(f"c{n}" for n in range(1_000_000)))
    begun = time.process_time()
    with pytest.raises(InvalidRequest, match="has 1,000,000 columns"):
        list(rows_of_columns(tmp_path / "a.csv", "csv", {}))
    assert time.process_time() - begun < 5


def test_a_record_of_many_lines_is_read_in_the_time_of_its_length(tmp_path: Path) -> None:
    """A field in quotes was read anew with each of its lines."""
    long = '"' + f'{"x" * 8_000} ""\n' * 900
    (tmp_path / "a.csv").write_text("id,body\n" + f'1,{long}"\n2,{long}')
    begun = time.process_time()
    first, second = rows_of_columns(tmp_path / "a.csv", "csv", {"id": pa.string(), "body": pa.string()})
    assert time.process_time() - begun < 1
    assert (first.cells or {})["body"] == long[1:].replace('""', '"')
    assert second.reason == "a quote is not closed"


MARKED = [
    ("a.jsonl", '{"id": "1"}\n{"id": "2"}\n'),
    ("a.csv", "id,body\n1,a\n2,b\n"),
    ("a.json.gz", '{"Item": {"pk": {"S": "1"}}}\n{"Item": {"pk": {"S": "2"}}}\n'),
]


@pytest.mark.parametrize(("name", "text"), MARKED, ids=[name for name, _ in MARKED])
def test_a_byte_order_mark_costs_no_row(tmp_path: Path, name: str, text: str) -> None:
    content = text.encode("utf-8-sig")
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    dataset = next(each for each in datasets_of(boxes) if each.model.kind is Box)
    rows = list(rows_of(tmp_path / name, format_of(name), dataset, (), 0))
    assert [(row.number, row.reason) for row in rows] == [(1, ""), (2, "")]


DOUBLED = [
    ("a.jsonl", '{"id": "1", "body": "a", "body": "b"}\n'),
    ("a.jsonl", '{"id": "1", "free": {"a": 1, "a": 2}}\n'),
    ("a.json", '{"Item": {"pk": {"S": "1"}, "pk": {"S": "2"}}}\n'),
    ("a.json", '{"Item": {"pk": {"S": "1"}}, "Item": {"pk": {"S": "1"}}}\n'),
    ("a.csv", 'id,free\n1,"{""a"": 1, ""a"": 2}"\n'),
]


@pytest.mark.parametrize(("name", "text"), DOUBLED, ids=[text for _, text in DOUBLED])
def test_a_name_that_stands_twice_in_an_object_makes_its_row_bad(
    db: Database, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    into, format = (Box, None) if name != "a.json" else (None, "dynamodb")
    done = Imports(db, boxes).run(tmp_path / name, into=into, format=format, dry_run=True)  # type: ignore[arg-type]
    assert (done.written, done.bad) == (0, 1)


@pytest.mark.parametrize(
    ("values", "size"),
    [(pa.array([1, 2]), 3 * 16), (pa.array(["a", "bb"]), 4), (pa.array([[1], [2]]), 3 * _UNMEASURED)],
)
def test_values_that_are_written_once_count_each_time(values: Any, size: int) -> None:
    """A dictionary of lists may hold large ones, which are not measured."""
    assert _bytes_of(pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), values)) == size


def test_a_line_has_at_most_eight_megabytes() -> None:
    most = b"x" * (8 << 20)
    lines = list(lines_of("orders.jsonl", BytesIO(most[1:] + b"\n" + most + b"y\n" + b"z")))
    assert lines == [most[1:] + b"\n", None, b"z"]
