"""The four applications, with their real data where it is there: each row is its item and its entity, by value."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from examples.goals.tests.file import FILE
from examples.manhunt.tests.support import DOMAIN, Clock, Outbox, make_world
from examples.organisations.tests.files import FILES
from examples.organisations.tests.support import MEMBER, OWNER
from examples.projects.tests.gitted import make_repository
from examples.projects.tests.histories import EVERYTHING
from goals import records
from goals.enhancements import read as read_enhancements
from goals.generated import generate
from goals.import_enhancements import import_enhancements
from manhunt import Service as Manhunt, manhunt
from manhunt.sample import load_sample
from organisations import Service as Organisations, organisations
from organisations.github_file import read as read_organisation
from organisations.import_github import import_file
from projects.import_git import import_git
from projects.model import projects
from singletable import Database, Table
from singletable.documents import LocalBlobs
from singletable.exchange import Dataset, Exports, datasets_of
from singletable.exchange.datasets import REST
from singletable.foundation import KeyOf, is_same_item
from singletable.graph import Graph
from singletable.operations import Item
from tests.support.engines import fresh
from tests.support.raw import all_items


def fill_goals(db: Database, folder: Path) -> None:
    db.create_table(records)
    if FILE.exists():
        import_enhancements(db, read_enhancements(FILE.read_text("utf-8")), lambda done, total: None)
    for part in generate(30):
        Graph(db).load(part.nodes, part.edges)


def fill_organisations(db: Database, folder: Path) -> None:
    db.create_table(organisations)
    app = Organisations(db)
    for email in (OWNER, MEMBER):
        app.put_user(email, first_name=email)
    id = app.create_organisation("Acme", owner=OWNER).organisation_id
    app.put_service(id, "api", "The API")
    app.invite(id, MEMBER)
    for file in FILES:
        import_file(db, read_organisation(file.read_text(), file.stem), app.now(), lambda done, total: None)


def fill_manhunt(db: Database, folder: Path) -> None:
    db.create_table(manhunt)
    app, clock = Manhunt(db), Clock()
    world = make_world(app, clock, Outbox())
    contacts = load_sample(app, DOMAIN)
    for contact in contacts:
        app.open_search(DOMAIN, contact.contact_id, {"summary": "the lighthouse is dark"})
    world.drain()
    world.later(40)


def fill_projects(db: Database, folder: Path) -> None:
    db.create_table(projects)
    repository = make_repository(folder / "everything", EVERYTHING)
    import_git(db, LocalBlobs(folder / "blobs"), repository, organisation="o1")


APPLICATIONS = {
    "goals": (records, fill_goals),
    "organisations": (organisations, fill_organisations),
    "manhunt": (manhunt, fill_manhunt),
    "projects": (projects, fill_projects),
}


@pytest.mark.parametrize("name", APPLICATIONS)
def test_every_row_is_its_item_and_its_entity(name: str, tmp_path: Path) -> None:
    table, fill = APPLICATIONS[name]
    with fresh() as db:
        fill(db, tmp_path)
        done = Exports(db, table).export(tmp_path / "exports")
        stored = {place(table, item): item for item in db.run(all_items(db.port, table.name))}
    assert (done.items, done.unknown) == (len(stored), 0)
    assert done.manifest is not None
    by_name = {dataset.name: dataset for dataset in datasets_of(table)}
    for files in done.manifest.datasets:
        dataset = by_name[files.name]
        for file in files.files:
            found = pq.read_table(tmp_path / "exports" / file.path)
            assert found.schema.equals(dataset.schema)
            for row in found.to_pylist():
                item = dataset.item(row)
                assert is_same_item(item, stored.pop(place(table, item)))
                compare(dataset, row, item)
    assert stored == {}


def place(table: Table, item: Item) -> tuple[str, str]:
    partition, sort = table.definition.key
    return item[partition]["S"], item[sort]["S"]


def compare(dataset: Dataset, row: Mapping[str, Any], item: Item) -> None:
    """The cells of a row with the attributes of the entity that the library reads."""
    entity = dataset.model.load_anywhere(item)
    rest = msgspec.json.decode(row[REST]) if row[REST] else {}
    for column in dataset.columns:
        if not column.name.startswith("_") and column.field.stored not in rest:
            value, cell = getattr(entity, column.name), row[column.name]
            assert is_cell_of(value, cell, column.column.type, column.column.may_lose), (column.name, value, cell)


def is_cell_of(value: Any, cell: Any, type: Any, has_json: bool) -> bool:
    """Whether a cell is what a value of an entity is in a column of a type; written anew from the how-to's table."""
    if value is None or cell is None:
        return value is None and cell in (None, "null")
    if isinstance(value, KeyOf):
        return bool(cell == value.partition)
    if pa.types.is_list(type):
        values = sorted(value) if isinstance(value, (set, frozenset)) else value
        pairs = zip(values, cell, strict=True)
        return all(is_cell_of(one, other, type.value_type, has_json) for one, other in pairs)
    if pa.types.is_map(type):
        found = dict(cell)
        names: bool = found.keys() == value.keys()
        return names and all(is_cell_of(each, found[name], type.item_type, has_json) for name, each in value.items())
    if pa.types.is_struct(type):
        return all(is_cell_of(getattr(value, f.name), cell[f.name], f.type, has_json) for f in type)
    if has_json and isinstance(cell, str):
        said: bool = msgspec.json.decode(cell) == msgspec.to_builtins(value)
        return said
    if isinstance(value, UUID):
        return bool(cell == str(value))
    plain = value.value if isinstance(value, Enum) else value
    same: bool = cell == plain
    return same
