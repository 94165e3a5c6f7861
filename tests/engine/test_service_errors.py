"""What the service answers to what no verb asks for: reads at one point in time, and the errors of tables and tokens.

The cassettes hold these answers.
"""

from __future__ import annotations

from typing import Any

import pytest

from singletable import key_of
from singletable.errors import InvalidRequest
from singletable.operations import GetItem, PutItem, TableCall, TransactGetItems, TransactWriteItems
from singletable.schema.models import model_of
from tests.support.models import User, app
from tests.support.raw import RawReader
from tests.support.shells import Shell

ADA = User(email="ada@example.org", name="Ada")
EVE = User(email="eve@example.org")


def get(user: User) -> GetItem[dict[str, Any]]:
    return GetItem(app.name, model_of(User).key_item(key_of(user)), RawReader())


async def test_items_are_read_at_one_point_in_time(shell: Shell) -> None:
    await shell.create(ADA)
    with shell.meter() as meter:
        found = await shell.port.send(TransactGetItems([get(EVE), get(ADA)]))
    assert found[0] is None
    assert found[1] is not None
    assert found[1]["name"] == {"S": "Ada"}
    assert (meter.requests, meter.round_trips) == (1, 1)


async def test_a_token_belongs_to_one_transaction(shell: Shell) -> None:
    await shell.create(ADA)
    token, item = shell.port.token(), model_of(User).key_item(key_of(EVE))
    await shell.port.send(TransactWriteItems([PutItem(app.name, item)], token))
    with pytest.raises(InvalidRequest):
        await shell.port.send(TransactWriteItems([PutItem(app.name, {**item, "more": {"S": "x"}})], token))


@pytest.mark.parametrize("operation", ["DescribeTable", "DeleteTable"])
async def test_a_table_that_is_not_there(shell: Shell, operation: str) -> None:
    call = TableCall(operation, {"TableName": "nowhere"}, or_none="ResourceNotFoundException")
    assert await shell.port.send(call) is None


async def test_a_table_that_is_there_already(shell: Shell) -> None:
    await shell.create_table(app)
    body: dict[str, Any] = {"TableName": app.name, "BillingMode": "PAY_PER_REQUEST"}
    body |= {"KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}
    body |= {"AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}]}
    assert await shell.port.send(TableCall("CreateTable", body, or_none="ResourceInUseException")) is None
