"""A table's definition as CreateTable takes it."""

from __future__ import annotations

import pytest

from singletable import Index, Table
from singletable.errors import DeclarationError

KEY = "1234abcd-12ab-34cd-56ef-1234567890ab"
ARN = f"arn:aws:kms:eu-central-1:123456789012:key/{KEY}"


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
        encryption_key=KEY,
        type_attribute="typ",
        version_attribute="v",
    ).definition.creation()
    assert [d["AttributeName"] for d in body["AttributeDefinitions"]] == ["id", "rng", "a", "b", "c", "d", "e", "f"]
    assert body["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    assert body["SSESpecification"] == {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": KEY}
    assert body["DeletionProtectionEnabled"] is True
    projections = {i["IndexName"]: i["Projection"] for i in body["GlobalSecondaryIndexes"]}
    assert projections == {
        "one": {"ProjectionType": "ALL"},
        "two": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["typ", "v", "x"]},
        "three": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["typ", "v"]},
    }


@pytest.mark.parametrize(
    "key", ["", "alias/mine", "arn:aws:kms:eu-central-1:123456789012:alias/mine", "a b", f"{KEY}\n"]
)
def test_an_encryption_key_is_an_id_or_an_arn(key: str) -> None:
    with pytest.raises(DeclarationError, match="is not the id or ARN of an encryption key"):
        Table("keyed", encryption_key=key)


@pytest.mark.parametrize("declared", [KEY, ARN, "mrk-1234abcd12ab34cd56ef1234567890ab"])
def test_a_key_is_known_by_its_id_or_its_arn(declared: str) -> None:
    definition = Table("keyed", encryption_key=declared).definition
    assert definition.is_encrypted_by(declared if declared.startswith("arn:") else ARN.replace(KEY, declared))
    assert not definition.is_encrypted_by("")
    assert not definition.is_encrypted_by(f"{ARN}0")
    assert not definition.is_encrypted_by(ARN.replace(KEY, f"0{declared}"))
