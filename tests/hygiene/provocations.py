"""A way to every error of the library, with canaries in all that it is given and finds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from singletable import Entity, Key, attr, connect
from singletable.errors import SingletableError
from singletable.schema.models import model_of
from singletable.wire import StaticCredentials
from tests.faults.actions import (
    Action,
    ApplyThenCut,
    CancelTransaction,
    Conflict,
    DropBefore,
    Refuse,
    Throttle,
    Unprocessed,
)
from tests.faults.rules import Faults, Match, Rule
from tests.hygiene.canaries import (
    AMOUNT,
    CREDENTIALS,
    CURSOR_KEY,
    ID,
    NUMBER,
    OTHER,
    TEXT,
    Entry,
    First,
    Second,
    Secret,
    secret,
    vault,
)
from tests.support.raw import put_raw
from tests.support.shells import Shell

KEY = Secret.by_id(ID)


@dataclass
class Stage:
    """A shell with canaries stored, under faults that a provocation may add."""

    shell: Shell
    faults: Faults
    url: str

    def answer(self, operation: str, action: Action) -> None:
        self.faults.add(Rule(Match(operation), action))


Provocation = Callable[[Stage], Awaitable[Any]]
EVERY: dict[str, tuple[str, Provocation]] = {}
"""By name: the error's code, and how to it."""


def leads_to(code: str) -> Callable[[Provocation], Provocation]:
    def register(provocation: Provocation) -> Provocation:
        assert provocation.__name__ not in EVERY
        EVERY[provocation.__name__] = code, provocation
        return provocation

    return register


# --- mistakes ---------------------------------------------------------------------------------------------------------
@leads_to("mistake.declaration")
async def a_class_without_a_key(stage: Stage) -> None:
    class Keyless(Entity, table=vault, type="keyless"):
        text: str = TEXT


@leads_to("mistake.declaration")
async def a_default_that_is_mutable_text(stage: Stage) -> None:
    class Wrong(Entity, table=vault, type="wrong"):
        text: str = TEXT

        @vault.key
        @staticmethod
        def by(text: str) -> Key:
            return f"secret#{text}", f"{text.upper()}"


def _wrong_values() -> dict[str, Any]:
    return {
        "number": TEXT,
        "amount": TEXT,
        "ratio": TEXT,
        "content": TEXT,
        "day": TEXT,
        "instant": TEXT,
        "uuid": TEXT,
        "colour": TEXT,
        "inner": TEXT,
        "tags": TEXT,
        "names": TEXT,
        "amounts": TEXT,
        "phone": NUMBER,
        "text-number": Decimal("918273645918273645918273645918273645918273645"),
    }


def _wrong_value(name: str) -> Provocation:
    async def provoke(stage: Stage) -> None:
        value = _wrong_values()[name]
        await stage.shell.put(secret(**{"amount" if name == "text-number" else name: value}))

    provoke.__name__ = f"a_wrong_{name}"
    return provoke


for _name in _wrong_values():
    leads_to("mistake.value")(_wrong_value(_name))


@leads_to("mistake.value")
async def a_key_that_is_too_long(stage: Stage) -> None:
    await stage.shell.get(Secret.by_id(TEXT * 400))


@leads_to("mistake.value")
async def an_identifier_with_a_control(stage: Stage) -> None:
    await stage.shell.get(Secret.by_id(TEXT + "\n"))


@leads_to("mistake.value")
async def a_wrong_value_in_an_update(stage: Stage) -> None:
    await stage.shell.update(KEY, attr(Secret.number).set(TEXT))  # type: ignore[arg-type]


@leads_to("mistake.value")
async def a_wrong_value_in_a_condition(stage: Stage) -> None:
    await stage.shell.put(secret(), where=attr(Secret.number) == TEXT)  # type: ignore[arg-type]


@leads_to("mistake.request")
async def an_update_of_the_key(stage: Stage) -> None:
    await stage.shell.update(KEY, attr(Secret.id).set(OTHER))


@leads_to("mistake.request")
async def a_service_that_refuses(stage: Stage) -> None:
    stage.answer("PutItem", Refuse("ValidationException", f"One of the values is invalid: '{TEXT}' Value: {TEXT}"))
    await stage.shell.put(Entry(book=ID, name=TEXT))


@leads_to("mistake.not-supported")
async def an_engine_without_transactions(stage: Stage) -> None:
    stage.answer("TransactWriteItems", Refuse("UnknownOperationException", f"Unsupported operation {TEXT}"))
    await stage.shell.create(secret(id=OTHER, unique=OTHER))


@leads_to("mistake.request")
async def a_transaction_that_is_refused(stage: Stage) -> None:
    stage.answer("TransactWriteItems", CancelTransaction(("ValidationError", "None")))
    await stage.shell.create(secret(id=OTHER, unique=OTHER))


@leads_to("mistake.request")
async def two_writes_in_a_batch(stage: Stage) -> None:
    await stage.shell.write_many(puts=[Entry(book=ID, name=TEXT)] * 2)


@leads_to("mistake.too-large")
async def an_item_that_is_too_large(stage: Stage) -> None:
    await stage.shell.put(Entry(book=ID, name=TEXT, text=TEXT * 60_000))


@leads_to("mistake.cursor")
async def a_cursor_of_another(stage: Stage) -> None:
    page = await stage.shell.page(Entry.in_book(ID), limit=1, principal=TEXT)
    await stage.shell.page(Entry.in_book(ID), limit=1, after=page.cursor, principal=OTHER)


@leads_to("mistake.cursor")
async def a_cursor_that_is_none(stage: Stage) -> None:
    await stage.shell.page(Entry.in_book(ID), limit=1, after=TEXT)


@leads_to("mistake.not-configured")
async def no_cursor_key(stage: Stage) -> None:
    with connect(stage.url, credentials=StaticCredentials(CREDENTIALS), environ={}) as db:
        _ = db.page(Entry.in_book(ID), limit=1).cursor


@leads_to("mistake.not-configured")
async def a_cursor_key_that_is_short(stage: Stage) -> None:
    connect(stage.url, cursor_keys=[CURSOR_KEY[:10]], environ={})


@leads_to("mistake.not-configured")
async def a_secret_with_a_newline(stage: Stage) -> None:
    from singletable.wire import Credentials

    Credentials(CREDENTIALS.access_key, CREDENTIALS.secret_key + "\n")


@leads_to("mistake.not-configured")
async def a_table_that_is_not_there(stage: Stage) -> None:
    stage.answer("PutItem", Refuse("ResourceNotFoundException", TEXT))
    await stage.shell.put(Entry(book=ID, name=TEXT))


# --- conflicts --------------------------------------------------------------------------------------------------------
@leads_to("conflict.already-exists")
async def a_create_again(stage: Stage) -> None:
    await stage.shell.create(secret(unique=OTHER))


@leads_to("conflict.already-exists")
async def another_type_in_its_place(stage: Stage) -> None:
    await stage.shell.put(First(id=ID))
    await stage.shell.put(Second(id=ID))


@leads_to("conflict.not-found")
async def an_update_of_nothing(stage: Stage) -> None:
    await stage.shell.update(Secret.by_id(OTHER), attr(Secret.number).set(NUMBER))


@leads_to("conflict.not-unique")
async def a_value_that_is_taken(stage: Stage) -> None:
    await stage.shell.create(secret(id=OTHER))


@leads_to("conflict.condition")
async def a_condition_that_fails(stage: Stage) -> None:
    await stage.shell.update(KEY, attr(Secret.number).set(NUMBER), where=attr(Secret.unique) == OTHER)


@leads_to("conflict.missing-path")
async def a_path_that_is_not_there(stage: Stage) -> None:
    await stage.shell.update(KEY, attr(Secret.tags[9]).set(TEXT))


@leads_to("conflict.version-moved")
async def a_version_that_moved(stage: Stage) -> None:
    await stage.shell.update(secret(revision=7), attr(Secret.ratio).set(0.5))


@leads_to("conflict.transaction-cancelled")
async def a_cancelled_transaction(stage: Stage) -> None:
    async with stage.shell.transaction() as tx:
        tx.put(Entry(book=ID, name=TEXT))
        tx.update(KEY, attr(Secret.phone).set(OTHER), where=attr(Secret.unique) == OTHER)
        tx.check(Entry.in_book(ID, OTHER), where=attr(Entry.text) == TEXT)


@leads_to("conflict.transaction-conflict")
async def a_conflict_for_good(stage: Stage) -> None:
    stage.answer("PutItem", Conflict())
    await stage.shell.put(Entry(book=ID, name=TEXT))


# --- the service ------------------------------------------------------------------------------------------------------
@leads_to("unavailable")
async def nobody_there(stage: Stage) -> None:
    stage.answer("GetItem", DropBefore())
    await stage.shell.get(KEY)


@leads_to("unavailable.throttled")
async def throttled(stage: Stage) -> None:
    stage.answer("PutItem", Throttle())
    await stage.shell.put(Entry(book=ID, name=TEXT))


@leads_to("unavailable.incomplete")
async def a_batch_left_undone(stage: Stage) -> None:
    stage.answer("BatchWriteItem", Unprocessed())
    await stage.shell.write_many(puts=[Entry(book=ID, name=TEXT)])


@leads_to("unavailable.incomplete")
async def a_batch_left_unread(stage: Stage) -> None:
    stage.answer("BatchGetItem", Unprocessed())
    await stage.shell.get_many([Entry.in_book(ID, TEXT)])


@leads_to("outcome-unknown")
async def a_sum_that_was_lost(stage: Stage) -> None:
    stage.answer("UpdateItem", ApplyThenCut())
    await stage.shell.update(KEY, attr(Secret.amount).add(AMOUNT))


@leads_to("denied")
async def denied(stage: Stage) -> None:
    stage.answer("GetItem", Refuse("AccessDeniedException", "not authorized to perform: dynamodb:GetItem"))
    await stage.shell.get(KEY)


@leads_to("denied")
async def a_signature_that_is_told_back(stage: Stage) -> None:
    said = f"The canonical string should have been\n'POST\n/\n{CREDENTIALS.access_key}'"
    stage.answer("GetItem", Refuse("InvalidSignatureException", said))
    await stage.shell.get(KEY)


@leads_to("denied")
async def a_header_that_is_told_back(stage: Stage) -> None:
    said = f"Authorization header requires 'Signature' parameter. Authorization=Credential={CREDENTIALS.access_key}"
    stage.answer("GetItem", Refuse("IncompleteSignatureException", said))
    await stage.shell.get(KEY)


# --- what is stored ---------------------------------------------------------------------------------------------------
async def _store(stage: Stage, **attributes: Any) -> None:
    item = model_of(Secret).item(replace(secret()))
    await put_raw(stage.shell.port, Secret, {**item, **attributes})


def _damaged(name: str, value: dict[str, Any], read: str) -> Provocation:
    async def provoke(stage: Stage) -> None:
        await _store(stage, **{name: value})
        if read == "get":
            await stage.shell.get(KEY)
        elif read == "all":
            await stage.shell.all(Secret.by_phone(TEXT))
        elif read == "get_many":
            await stage.shell.get_many([KEY])
        else:
            await stage.shell.update(KEY, attr(Secret.ratio).set(0.5))

    provoke.__name__ = f"a_damaged_{name}_{read}"
    return provoke


_DAMAGE: dict[str, dict[str, Any]] = {
    "number": {"S": TEXT},
    "colour": {"S": TEXT},
    "day": {"S": TEXT},
    "instant": {"S": TEXT},
    "uuid": {"S": TEXT},
    "content": {"S": TEXT},
    "inner": {"M": {"number": {"S": TEXT}}},
    "amounts": {"M": {TEXT: {"S": TEXT}}},
    "tags": {"L": [{"N": str(NUMBER)}]},
    "_v": {"N": "7"},
}
for _name, _value in _DAMAGE.items():
    for _read in ("get", "all", "get_many", "update"):
        _took_effect = _read == "update" and _name != "_v"  # an item of a newer version is not written to
        _code = "corrupt.newer" if _name == "_v" else "corrupt.applied" if _took_effect else "corrupt"
        leads_to(_code)(_damaged(_name, _value, _read))


@leads_to("corrupt")
async def an_upcaster_that_is_missing(stage: Stage) -> None:
    await _store(stage, _v={"N": "1"})
    await stage.shell.get(KEY)


@leads_to("mistake.flow-suspended")
async def a_flow_that_waits_for_something_else(stage: Stage) -> None:
    import asyncio  # noqa: TID251

    from singletable.flow import drive

    drive(asyncio.sleep(10, TEXT))


def every_class(root: type[SingletableError] = SingletableError) -> set[type[SingletableError]]:
    """The tree of errors, from the root down."""
    below = {kind for child in root.__subclasses__() for kind in every_class(child)}
    return {root, *below}
