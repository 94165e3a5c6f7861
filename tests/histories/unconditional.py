"""An engine that forgets the conditions of writes: what a checker of histories has to find out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from singletable.wire import BlockingPort
from singletable.wire.exchange import Exchange, HttpResponse
from tests.faults.messages import Call
from tests.support.ports import wrap_exchanges

T = TypeVar("T")


class _Unconditional:
    def __init__(self, inner: Exchange) -> None:
        self._inner = inner

    async def exchange(self, message: bytes, timeout: float, max_idle_seconds: float, epoch: str = "") -> HttpResponse:
        call = Call.read(message)
        if call.operation == "TransactWriteItems":
            actions = [_without(action) for action in call.json["TransactItems"]]
            message = call.asking(call.operation, {**call.json, "TransactItems": actions}).message
        return await self._inner.exchange(message, timeout, max_idle_seconds, epoch)

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)

    async def run_blocking(self, work: Callable[[], T]) -> T:
        return await self._inner.run_blocking(work)


def _without(action: dict[str, Any]) -> dict[str, Any]:
    ((verb, body),) = action.items()
    if verb == "Update":  # its placeholders are named in its condition and in its changes
        return action
    if verb == "ConditionCheck":
        always = {"ConditionExpression": "attribute_exists(#0) OR attribute_not_exists(#0)"}
        body = {name: value for name, value in body.items() if name in ("TableName", "Key")}
        return {verb: {**body, **always, "ExpressionAttributeNames": {"#0": next(iter(body["Key"]))}}}
    unused = ("ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues")
    return {verb: {name: value for name, value in body.items() if name not in unused}}


def drop_conditions(port: BlockingPort) -> None:
    """Have the puts, deletes and checks of the transactions that a port sends never refused."""
    wrap_exchanges(port, _Unconditional)
