"""Files instead of a table: a model of NoSQL Workbench, an export of DynamoDB to S3."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from singletable.adopt import Adopted, adopted, read_source
from singletable.errors import Corrupt, InvalidRequest
from tests.adopt.tables import shop, stored


def _key(partition: str, sort: str) -> dict[str, Any]:
    names = {"PartitionKey": partition, "SortKey": sort}
    return {name: {"AttributeName": attribute, "AttributeType": "S"} for name, attribute in names.items()}


def model() -> dict[str, Any]:
    """A model with a table of examples and one of facets, whose maps hold plain JSON."""
    index = {"IndexName": "GSI1", "KeyAttributes": _key("GSI1PK", "GSI1SK"), "Projection": {"ProjectionType": "ALL"}}
    shop_table = {
        "TableName": "shop",
        "KeyAttributes": _key("PK", "SK"),
        "GlobalSecondaryIndexes": [index],
        "TableData": [stored(**item) for item in shop(20)],
    }
    users = [
        {"PK": {"S": f"U#{n}"}, "SK": {"S": "META"}, "n": {"N": str(n)}, "likes": {"M": {"dark": n > 3, "tags": ["a"]}}}
        for n in (7, 12, 130)
    ]
    without_key = {"PK": {"S": ""}, "SK": {"S": ""}}
    facets = [{"FacetName": "user", "TableData": [*users, users[0], without_key]}]
    others = {"TableName": "people", "KeyAttributes": _key("PK", "SK"), "TableFacets": facets}
    return {"ModelName": "m", "ModelMetadata": {"Version": "3.0"}, "DataModel": [shop_table, others]}


def read(path: Path, table: str | None = None, *key: str, **indexes: list[str]) -> Adopted:
    source = read_source(str(path), table, key, indexes)
    return adopted(source.sample.items, source.layout)


def test_the_tables_of_a_model_are_adopted(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps(model()))
    outcome = read(path, "shop")
    assert (outcome.items, sum(outcome.explained.values())) == (120, 120)
    assert 'return f"STATUS#{status:raw}", f"{created_at:raw}"' in outcome.source
    people = read(path, "people")
    assert (people.explained, people.unexplained) == ({"u_meta": 3}, [])
    assert "likes: dict[str, Any]" in people.source
    with pytest.raises(InvalidRequest, match="has the tables shop, people"):
        read(path)


@pytest.mark.parametrize("under", ["Item", "NewImage", ""])
@pytest.mark.parametrize("packed", [True, False])
def test_a_data_file_of_an_export_is_adopted(tmp_path: Path, *, packed: bool, under: str) -> None:
    items = [stored(**item) for item in shop(20)]
    lines = "".join(json.dumps({under: item} if under else item) + "\n" for item in items).encode()
    path = tmp_path / "part.json.gz"
    path.write_bytes(gzip.compress(lines) if packed else lines)
    outcome = read(path, "shop", "PK", "SK", GSI1=["GSI1PK", "GSI1SK"])
    assert (outcome.items, sum(outcome.explained.values())) == (120, 120)
    assert '        "GSI1": Index("GSI1PK", "GSI1SK"),\n' in outcome.source
    assert "\npart = Table(\n" in read(path, None, "PK", "SK").source


def test_a_file_without_keys_or_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "part.jsonl"
    path.write_text('{"PK": {"S": "x"}}\n')
    with pytest.raises(InvalidRequest, match="does not say which attributes are keys"):
        read(path)
    with pytest.raises(InvalidRequest, match="no item has the key attribute id"):
        read(path, None, "id")
    path.write_text("PK,SK\n")
    with pytest.raises(Corrupt, match="does not hold items"):
        read(path, None, "PK")
    path.with_suffix(".json").write_text('{"DataModel": 7}')
    with pytest.raises(InvalidRequest, match="is not a model of NoSQL Workbench"):
        read(path.with_suffix(".json"))
