"""A table's definition as CreateTable takes it."""

from __future__ import annotations

from singletable import Index, Table


def test_a_plain_table() -> None:
    body = Table("plain").definition.creation()
    assert body == {
        "TableName": "plain",
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": "pk", "AttributeType": "S"},
            {"AttributeName": "sk", "AttributeType": "S"},
        ],
        "KeySchema": [
            {"AttributeName": "pk", "KeyType": "HASH"},
            {"AttributeName": "sk", "KeyType": "RANGE"},
        ],
        "DeletionProtectionEnabled": False,
    }


def test_every_setting() -> None:
    body = Table(
        "full",
        key=("id", "rng"),
        indexes={"one": ("a", "b"), "two": Index("c", "d", ("x",)), "three": Index("e", "f", "keys")},
        stream="new_and_old",
        deletion_protection=True,
        encryption_key="alias/mine",
        type_attribute="typ",
        version_attribute="v",
    ).definition.creation()
    assert [d["AttributeName"] for d in body["AttributeDefinitions"]] == ["id", "rng", "a", "b", "c", "d", "e", "f"]
    assert body["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert body["SSESpecification"] == {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": "alias/mine"}
    assert body["DeletionProtectionEnabled"] is True
    projections = {i["IndexName"]: i["Projection"] for i in body["GlobalSecondaryIndexes"]}
    assert projections == {
        "one": {"ProjectionType": "ALL"},
        "two": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["typ", "v", "x"]},
        "three": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["typ", "v"]},
    }
