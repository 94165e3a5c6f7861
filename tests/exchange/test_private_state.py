"""The key of masks, and the keys of items, stay with the user who runs an export or a copy."""

from __future__ import annotations

import json
import re
import stat
from base64 import b64decode, b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from singletable import Database, Entity, InvalidRequest, Key, Table, connect, field
from singletable.errors import Unavailable
from singletable.exchange import Exports, TableCopy, export, read_manifest, store_at, table_copy
from singletable.exchange.manifest import MANIFEST
from singletable.exchange.unfinished import UNFINISHED
from singletable.streams.tail import RecordTail
from singletable_local import copy_data
from tests.migrations.watching import Killed
from tests.support.engines import fresh

told = Table("told", stream="new_and_old")
RAW = re.compile(rb"somebody\d+@example\.org|Surname\d")
GIVEN = b"a key that the user gives"
COUNT = 60


class Person(Entity, table=told, type="person"):
    email: str = field(personal=True)
    name: str = field(personal=True, unique=True)

    @told.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One person."""
        return f"person#{email}", "person"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(export, "PAGE_ITEMS", 10)
    monkeypatch.setattr(export, "SECTION_ITEMS", 20)
    monkeypatch.setattr(table_copy, "PAGE", 10)


@pytest.fixture
def source() -> Iterator[Database]:
    with fresh() as made:
        fill(made)
        yield made


def fill(db: Database) -> None:
    db.create_table(told)
    for n in range(COUNT):
        db.create(Person(email=f"somebody{n}@example.org", name=f"Surname{n}"))


def own_files(folder: Path) -> list[Path]:
    """What this user keeps; only they may read it."""
    found = [path for path in (folder / "state").rglob("*") if path.is_file()]
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in found)
    assert stat.S_IMODE((folder / "state/singletable/unfinished").stat().st_mode) == 0o700
    return found


def forms(secret: bytes) -> list[bytes]:
    """A secret as bytes, base64 and hexadecimal, and what a hash shows of it."""
    hashed = sha256(secret)
    return [secret, b64encode(secret).rstrip(b"="), secret.hex().encode(), hashed.digest(), hashed.hexdigest().encode()]


def holds_nothing(content: bytes, secret: bytes) -> None:
    assert not RAW.search(content)
    assert not [form for form in forms(secret) if form in content]


def bytes_of(data: Path) -> bytes:
    """A data file with its log."""
    return b"".join(path.read_bytes() for path in data.parent.iterdir() if path.name.startswith(data.name))


def streamed(db: Database) -> bytes:
    tail = RecordTail(db.port, told, "horizon")
    found = [each for _ in range(3) for each in db.run(tail.read())]
    assert found
    return b"\n".join(msgspec.json.encode(each) for each in found)


def killed_copy(source: Database, target: Database, **options: Any) -> None:
    """A copy that is ended when some pages of it are there, and half of the next one."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(table_copy, "put_patiently", half_after(6))
        with pytest.raises(Killed):
            TableCopy(source, target, told).run(**options)


def half_after(pages: int) -> Any:
    put, done = table_copy.put_patiently, 0

    async def half(port: Any, table: Table, items: Any) -> None:
        nonlocal done
        done += 1
        await put(port, table, items if done <= pages else items[: len(items) // 2])
        if done > pages:
            raise Killed

    return half


@pytest.mark.embedded("greps its data file")
@pytest.mark.parametrize("given", [None, GIVEN])
def test_a_masked_copy_holds_neither_its_key_nor_an_address(
    source: Database, tmp_path: Path, given: bytes | None
) -> None:
    """In its file, its stream and its backups: while it is under way, after a kill, and at the end."""
    data = tmp_path / "masked" / "copy.db"
    with connect(f"local:{data}") as target:
        killed_copy(source, target, mask_key=given)
        (own,) = own_files(tmp_path)
        said = json.loads(own.read_text())
        assert RAW.search(said["state"].encode())
        secret = given or b64decode(said["secret"])
        copy_data(data, tmp_path / "masked/copy.db.backup")
        holds_nothing(bytes_of(data) + streamed(target), secret)
        done = TableCopy(source, target, told).run(mask_key=given)
        assert done.read == 2 * COUNT
        assert len(list(target.scan(Person))) == COUNT
        assert target.check(told) == []
        copy_data(data, tmp_path / "masked/copy.db.second")
        holds_nothing(bytes_of(data) + streamed(target), secret)
    holds_nothing(bytes_of(data), secret)
    assert own_files(tmp_path) == []


def test_a_masked_copy_goes_on_where_its_key_is(
    source: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it, the same person would have two masks."""
    with fresh() as target:
        killed_copy(source, target)
        with monkeypatch.context() as other:
            other.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
            with pytest.raises(InvalidRequest, match=r"its key is not in .*other.*that began it"):
                TableCopy(source, target, told).run()
        assert TableCopy(source, target, told).run().read == 2 * COUNT
        assert len(list(target.scan(Person))) == COUNT


def test_a_copy_goes_on_with_its_own_key_even_where_it_adds(
    source: Database,
) -> None:
    with fresh() as target:
        killed_copy(source, target, mask_key=GIVEN, add=True)
        with pytest.raises(InvalidRequest, match="no copy with these options"):
            TableCopy(source, target, told).run(mask_key=b"another key of a user", add=True)
        TableCopy(source, target, told).run(mask_key=GIVEN, add=True)
        assert len(list(target.scan(Person))) == COUNT


def test_a_copy_of_one_source_does_not_go_on_with_another(source: Database) -> None:
    """Their keys are not the same: items of the other one would be passed over."""
    with fresh() as target, fresh() as another:
        fill(another)
        killed_copy(source, target, keep_personal=True)
        with pytest.raises(InvalidRequest, match="no copy with these options"):
            TableCopy(another, target, told).run(keep_personal=True)
        assert TableCopy(source, target, told).run(keep_personal=True).read == 2 * COUNT


def end(_: object) -> None:
    raise Killed


@pytest.mark.parametrize("given", [None, GIVEN])
def test_a_masked_export_shows_neither_its_key_nor_an_address(
    source: Database, tmp_path: Path, given: bytes | None
) -> None:
    folder, options = tmp_path / "export", {"personal": False, "format": "jsonl", "segments": 1, "mask_key": given}
    secret, calls = GIVEN, 0

    def look(_: object) -> None:
        nonlocal secret, calls
        calls += 1
        (own,) = own_files(tmp_path)
        said = json.loads(own.read_text())
        secret = given or b64decode(said["mask_key"])
        holds_nothing(b"".join(path.read_bytes() for path in folder.rglob("*.*")), secret)
        if calls == 6:
            raise Killed

    with pytest.raises(Killed):
        Exports(source, told).export(folder, progress=look, **options)  # type: ignore[arg-type]
    assert Exports(source, told).export(folder, progress=look, **options).resumed  # type: ignore[arg-type]
    assert calls > 6
    assert own_files(tmp_path) == []
    holds_nothing(b"".join(path.read_bytes() for path in folder.rglob("*.*")), secret)
    assert [path.name for path in folder.iterdir() if path.name != MANIFEST] == [read_manifest(store_at(folder)).id]


def test_another_user_begins_the_export_again(
    source: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(Killed):
        Exports(source, told).export(tmp_path / "export", personal=False, progress=end)
    (begun,) = (json.loads(path.read_text())["id"] for path in (tmp_path / "export").glob(UNFINISHED))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    done = Exports(source, told).export(tmp_path / "export", personal=False)
    assert (done.resumed, done.items) == (False, 2 * COUNT)
    assert not (tmp_path / "export" / begun).exists()


def test_nothing_is_kept_of_a_masked_export_when_another_takes_its_place(source: Database, tmp_path: Path) -> None:
    with pytest.raises(Killed):
        Exports(source, told).export(tmp_path / "export", personal=False, progress=end)
    assert own_files(tmp_path)
    Exports(source, told).export(tmp_path / "export")
    assert own_files(tmp_path) == []


def test_a_masked_export_takes_no_key_from_its_folder(source: Database, tmp_path: Path) -> None:
    """Whoever put it there would recognise everybody."""
    with pytest.raises(Killed):
        Exports(source, told).export(tmp_path / "export", personal=False, progress=end)
    (own,) = own_files(tmp_path)
    planted = json.loads(own.read_text()) | {"mask_key": b64encode(b"known to its sender, 32 bytes on").decode()}
    own.unlink()
    (tmp_path / "export" / UNFINISHED).write_text(json.dumps(planted))
    done = Exports(source, told).export(tmp_path / "export", personal=False)
    assert (done.resumed, done.items) == (False, 2 * COUNT)


def test_what_the_manifest_names_stays_whatever_is_left_of_its_run(source: Database, tmp_path: Path) -> None:
    """A run that was killed between its manifest and its end; the next one has other options."""
    states: list[bytes] = []
    done = Exports(source, told).export(
        tmp_path / "export", progress=lambda _: states.append((tmp_path / "export" / UNFINISHED).read_bytes())
    )
    (tmp_path / "export" / UNFINISHED).write_bytes(states[-1])
    with pytest.raises(Killed):
        Exports(source, told).export(tmp_path / "export", format="csv", progress=end)
    assert (tmp_path / "export" / done.id).exists()
    assert Exports(source, told).export(tmp_path / "export", format="csv").items == 2 * COUNT


def test_without_a_state_directory_the_error_names_it(
    source: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(Unavailable, match=r"ENOTDIR.*XDG_STATE_HOME"):
        Exports(source, told).export(tmp_path / "export", personal=False)
    with fresh() as target, pytest.raises(Unavailable, match=r"ENOTDIR.*XDG_STATE_HOME"):
        TableCopy(source, target, told).run()
    assert Exports(source, told).export(tmp_path / "export").items == 2 * COUNT


@pytest.mark.embedded("starts an engine on a data file twice")
def test_a_killed_export_of_a_data_file_goes_on(tmp_path: Path) -> None:
    """The engine has another socket each time; the place of the database is its file."""
    for expected in (False, True):
        with connect(f"local:{tmp_path}/data.db") as db:
            if not expected:
                fill(db)
                with pytest.raises(Killed):
                    Exports(db, told).export(tmp_path / "export", progress=end)
            else:
                done = Exports(db, told).export(tmp_path / "export")
                assert done.manifest is not None
                assert (done.resumed, done.manifest.source["place"]) == (True, f"{tmp_path}/data.db")
    with connect(f"local:{tmp_path}/other.db") as db:
        fill(db)
        with pytest.raises(Killed):
            Exports(db, told).export(tmp_path / "export", progress=end)
    with connect(f"local:{tmp_path}/data.db") as db:
        assert not Exports(db, told).export(tmp_path / "export").resumed
