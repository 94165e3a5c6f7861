"""Carrying out faults: a request goes in, what comes of it goes out. Proxy and port share it; it knows no sockets.

What it does not do: a stale image is given whole, so a read with a projection passes unchanged; a lagging index leaves
out or ages items that were written lately, but does not bring back those that were deleted or moved away.
"""

from __future__ import annotations

import re
from typing import Any
from zlib import crc32

from tests.faults.actions import (
    Action,
    ApplyThen500,
    ApplyThen500ThenLateDuplicate,
    ApplyThenCut,
    ApplyThenHang,
    BadChecksum,
    CancelTransaction,
    ChargeWhole,
    Conflict,
    Delay,
    DropBefore,
    IndexFrozen,
    IndexLag,
    NotThereYet,
    PartialPage,
    Refuse,
    StaleRead,
    Throttle,
    TransactionInProgress,
    TruncateBody,
    Unprocessed,
)
from tests.faults.history import Ask, History
from tests.faults.messages import Call, Cut, Hang, Outcome, Reply
from tests.faults.rules import Faults

WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"})
_OK = 200
_PARTITION = re.compile(r"= *(:\w+)")
_INTERNAL = ("InternalServerError", "The request processing has failed because of an unknown error.", 500)


class Carrier:
    """What stands between a caller and an engine, with its memory of late duplicates and old images."""

    def __init__(self, faults: Faults) -> None:
        self.faults = faults
        self.history = History()
        self.duplicates: list[tuple[int, Call]] = []
        """Requests to come again, each with how many requests are to pass first."""
        self.repeated: list[Call] = []
        """Those that have come again."""
        self.hides_items = False
        """As an engine that does not know ReturnValuesOnConditionCheckFailure: refusals come without their items."""
        self.frozen: dict[str, Reply] = {}
        """What partitions of indexes answer for as long as a rule freezes them."""

    async def carry(self, message: bytes, ask: Ask) -> Outcome:
        """What becomes of one request. `ask` sends one to the engine and gives its answer."""
        call = Call.read(message)
        if self.frozen and not any(isinstance(rule.action, IndexFrozen) for rule in self.faults.rules):
            self.frozen.clear()
        action = self.faults.decide(call)
        earlier = len(self.duplicates)
        outcome = await self._act(call, action, ask)
        await self._count_down(earlier, ask)
        return without_items(outcome) if self.hides_items and isinstance(outcome, Reply) else outcome

    async def _act(self, call: Call, action: Action | None, ask: Ask) -> Outcome:
        match action:
            case DropBefore():
                return Cut()
            case Throttle():
                return _throttled(action)
            case Refuse():
                return Reply.error(action.code, action.message, action.status)
            case CancelTransaction():
                return _cancelled(action.reasons)
            case TransactionInProgress():
                return Reply.error("TransactionInProgressException")
            case Conflict():
                return _conflict(call, action)
            case Unprocessed():
                return await self._unprocessed(call, action.count, ask)
            case PartialPage():
                limit = min(action.count, call.json.get("Limit", action.count))
                return await self._apply(call.asking(call.operation, {**call.json, "Limit": limit}), ask)
            case _:
                return await self._spoil(call, action, await self._apply(call, ask), ask)

    async def _spoil(self, call: Call, action: Action | None, answer: Reply, ask: Ask) -> Outcome:
        """What the caller gets of an answer that the engine has given."""
        match action:
            case ApplyThenCut():
                return Cut()
            case ApplyThenHang():
                return Hang()
            case ApplyThen500():
                return Reply.error(*_INTERNAL)
            case ApplyThen500ThenLateDuplicate():
                if answer.status == _OK:
                    self.duplicates.append((action.after, call))
                return Reply.error(*_INTERNAL)
            case TruncateBody():
                return Cut(answer.message[: len(answer.message) - len(answer.body) // 2 - 1])
            case BadChecksum():
                return answer.with_wrong_checksum()
            case Delay():
                return Reply(answer.status, answer.body, answer.checksum, action.seconds)
            case StaleRead():
                return await self._stale(call, action, answer, ask)
            case IndexLag():
                return await self._lagging(call, action.writes, answer, ask)
            case IndexFrozen():
                return self._frozen(call, answer)
            case NotThereYet():
                return _without_found(call, answer)
            case ChargeWhole():
                return await self._charged_whole(call, answer, ask)
            case _:
                return answer

    async def _apply(self, call: Call, ask: Ask) -> Reply:
        """The engine's answer; what the request writes is noted where a rule needs old images."""
        if call.operation not in WRITES or not self._remembers():
            return await ask(call)
        await self.history.before(call, ask)
        answer = await ask(call)
        if answer.status == _OK:
            await self.history.after(call, ask)
        return answer

    def _remembers(self) -> bool:
        return any(isinstance(rule.action, (StaleRead, IndexLag)) for rule in self.faults.rules)

    async def _count_down(self, count: int, ask: Ask) -> None:
        """One more request has passed for the duplicates that were waiting before it."""
        waiting = [(left - (i < count), call) for i, (left, call) in enumerate(self.duplicates)]
        self.duplicates = [(left, call) for left, call in waiting if left > 0]
        for call in [call for left, call in waiting if left <= 0]:
            self.repeated.append(call)
            await self._apply(call, ask)

    async def _unprocessed(self, call: Call, count: int | None, ask: Ask) -> Reply:
        name = "UnprocessedItems" if call.operation == "BatchWriteItem" else "UnprocessedKeys"
        kept, held = _split(call, count)
        answer = (
            await self._apply(call.asking(call.operation, {**call.json, "RequestItems": kept}), ask) if kept else None
        )
        if answer is not None and answer.status != _OK:
            return answer
        body = {"Responses": {}} if answer is None else answer.json
        return Reply.of({**body, name: {**body.get(name, {}), **held}})

    async def _stale(self, call: Call, action: StaleRead, answer: Reply, ask: Ask) -> Reply:
        if answer.status != _OK or call.operation not in ("GetItem", "BatchGetItem"):
            return answer
        if call.operation == "GetItem":
            request = call.json
            known, image = self._image(request["TableName"], request, request["Key"], action)
            body = {name: value for name, value in answer.json.items() if name != "Item"}
            return answer if not known else Reply.of({**body, **({"Item": image} if image is not None else {})})
        responses = dict(answer.json.get("Responses", {}))
        for table, request in call.json["RequestItems"].items():
            names = await self.history.key_names(call, table, ask)
            found = {repr([item[n] for n in names]): item for item in responses.get(table, [])}
            for key in request["Keys"]:
                known, image = self._image(table, request, key, action)
                if known and image is None:
                    found.pop(repr([key[n] for n in names]), None)
                elif known and image is not None:
                    found[repr([key[n] for n in names])] = image
            responses[table] = list(found.values())
        return Reply.of({**answer.json, "Responses": responses})

    def _image(self, table: str, request: dict[str, Any], key: dict[str, Any], action: StaleRead) -> tuple[bool, Any]:
        if "ProjectionExpression" in request or (request.get("ConsistentRead") and not action.even_consistent):
            return False, None
        known, image = self.history.older(table, key, action.back)
        return known and not (action.only_there and image is None), image

    async def _charged_whole(self, call: Call, answer: Reply, ask: Ask) -> Reply:
        if answer.status != _OK or call.operation != "GetItem" or "ProjectionExpression" not in call.json:
            return answer
        of_parts = ("ProjectionExpression", "ExpressionAttributeNames")
        whole = {name: value for name, value in call.json.items() if name not in of_parts}
        charged = (await ask(call.asking("GetItem", whole))).json["ConsumedCapacity"]
        return Reply.of({**answer.json, "ConsumedCapacity": charged})

    async def _lagging(self, call: Call, writes: int, answer: Reply, ask: Ask) -> Reply:
        if answer.status != _OK or call.operation != "Query" or "IndexName" not in call.json:
            return answer
        table = call.json["TableName"]
        await self.history.key_names(call, table, ask)
        names = await self._index_names(call, ask)
        items = []
        for item in answer.json["Items"]:
            image = self.history.lagging(table, item, writes)
            if image is not None and all(image.get(n) == item.get(n) for n in names):
                items.append(image)
        return Reply.of({**answer.json, "Items": items, "Count": len(items)})

    def _frozen(self, call: Call, answer: Reply) -> Reply:
        if answer.status != _OK or call.operation != "Query" or "IndexName" not in call.json:
            return answer
        request = call.json
        partition = _PARTITION.search(request["KeyConditionExpression"])
        value = request["ExpressionAttributeValues"].get(partition[1]) if partition else None
        place = repr([request["IndexName"], value, request.get("ExclusiveStartKey")])
        if place not in self.frozen:
            nothing = Reply.of({**answer.json, "Items": [], "Count": 0, "ScannedCount": 0})
            self.frozen[place] = answer if crc32(place.encode()) % 2 else nothing
        return self.frozen[place]

    async def _index_names(self, call: Call, ask: Ask) -> list[str]:
        said = await ask(call.asking("DescribeTable", {"TableName": call.json["TableName"]}))
        indexes = said.json["Table"].get("GlobalSecondaryIndexes", [])
        wanted = next(index for index in indexes if index["IndexName"] == call.json["IndexName"])
        return [part["AttributeName"] for part in wanted["KeySchema"]]


def _without_found(call: Call, answer: Reply) -> Reply:
    """The answer to a read that is not consistent, where nothing is there; any other as it is."""
    body = call.json
    if answer.status != _OK or "IndexName" in body or body.get("ConsistentRead"):
        return answer
    match call.operation:
        case "GetItem":
            return Reply.of({name: value for name, value in answer.json.items() if name != "Item"})
        case "Query" | "Scan":
            kept = {name: value for name, value in answer.json.items() if name != "LastEvaluatedKey"}
            return Reply.of({**kept, "Items": [], "Count": 0, "ScannedCount": 0})
        case "BatchGetItem":
            strong = {table for table, asked in body["RequestItems"].items() if asked.get("ConsistentRead")}
            found = answer.json.get("Responses", {})
            return Reply.of({**answer.json, "Responses": {t: found[t] if t in strong else [] for t in found}})
        case _:
            return answer


def _conflict(call: Call, conflict: Conflict) -> Reply:
    if conflict.elsewhere:
        return Reply.error("ReplicatedWriteConflictException", status=409)
    if call.operation != "TransactWriteItems":
        return Reply.error("TransactionConflictException")
    return _cancelled(("TransactionConflict", *["None"] * (len(call.json["TransactItems"]) - 1)))


def _throttled(action: Throttle) -> Reply:
    if not action.reason:
        return Reply.error(action.code, action.message)
    reasons = [{"reason": action.reason, "resource": action.resource}]
    if action.code == "ThrottlingException":
        return Reply.error(action.code, action.message, throttlingReasons=reasons)
    return Reply.error(action.code, action.message, ThrottlingReasons=reasons)


def _cancelled(reasons: tuple[str, ...]) -> Reply:
    said = [{"Code": code} if code == "None" else {"Code": code, "Message": f"injected {code}"} for code in reasons]
    return Reply.error(
        "TransactionCanceledException", f"Transaction cancelled [{', '.join(reasons)}]", CancellationReasons=said
    )


def _split(call: Call, count: int | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """The part of a batch that is done, and the part that is left: the last `count` requests of each table."""
    kept: dict[str, Any] = {}
    held: dict[str, Any] = {}
    for table, requests in call.json["RequestItems"].items():
        keys = requests["Keys"] if call.operation == "BatchGetItem" else requests
        at = 0 if count is None else max(0, len(keys) - count)
        for part, into in ((keys[:at], kept), (keys[at:], held)):
            if part:
                into[table] = {**requests, "Keys": part} if call.operation == "BatchGetItem" else part
    return kept, held


def without_items(answer: Reply) -> Reply:
    """An answer as it is, but for the items that a refused condition found."""
    if answer.status == _OK:
        return answer
    said = {name: value for name, value in answer.json.items() if name != "Item"}
    for reason in said.get("CancellationReasons", ()):
        reason.pop("Item", None)
    return Reply.of(said, answer.status)
