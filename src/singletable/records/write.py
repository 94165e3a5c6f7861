"""The interface of a write for the flows that send it: it plans a part, which may be refused, from what is known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from singletable.errors import SingletableError
from singletable.events import Listeners
from singletable.expressions import AttributeChange, Condition, Given, Update
from singletable.flow import Port
from singletable.operations import Item, TransactAction
from singletable.records.conditions import Facts
from singletable.schema import KeyOf, Model

if TYPE_CHECKING:
    from singletable.records.unique_guards import AttachedChange


class _Unread:
    def __repr__(self) -> str:
        return "UNREAD"


UNREAD: Any = _Unread()
"""The item of a write was not read. None means that it was read and is missing."""


class Moment(Struct, frozen=True):
    """The time and the write id with which a write is planned."""

    now: float
    is_known: bool
    """Whether `now` is the service's time: before a port's first answer it is the machine's, which may be wrong."""
    write_id: str = ""
    """A fresh text, the same for all tries of the write; none in a transaction, whose token settles a lost answer."""
    events: Listeners | None = None
    """Those who may give the context of a trace, to be stored with what is written. None for a plan that is only shown.
    """

    @property
    def gone_until(self) -> float:
        """The time by which an item must have expired to be overwritten; 0, so that none has, before it is known."""
        return self.now if self.is_known else 0.0

    def facts(
        self, count: int | None = None, *, where: Condition | None = None, held: Condition | None = None
    ) -> Facts:
        """Make the facts of a write that is planned now."""
        return Facts(self.now, self.gone_until, count, "", where, held)


def moment_at(port: Port, write_id: str = "") -> Moment:
    """The moment of a write that is planned now. `send` and `commit` have it in line: one call less for each write."""
    is_known = port.clock.is_known  # read first: another thread's answer may come between the two
    return Moment(port.now(), is_known, write_id, port.events)


def counted(model: Model[Any], write_id: str | Given) -> Iterator[AttributeChange]:
    """The count of writes, one more, and this write's id: a repeat of the same write finds the id and is refused."""
    assert model.counter is not None
    yield AttributeChange(model.counter.stored, {"N": "0"}, plus={"N": "1"})
    if write_id:
        own = write_id.value if isinstance(write_id, Given) else {"S": write_id}
        yield AttributeChange(model.table.definition.write_id_attribute, own)


def settles_nothing(_: Item | None) -> bool:
    return False


class WritePart(Struct, frozen=True):
    """One action of a write. `refusal` makes the error of a failed condition from the stored item."""

    action: TransactAction
    refusal: Callable[[Item | None], SingletableError]
    settles: Callable[[Item | None], bool] = settles_nothing
    """Whether a stored item shows that an earlier try applied this part."""
    certain: bool = True
    """Whether a refusal after a lost answer can't come from the part's own earlier success."""
    refusal_needs_item: bool = True
    """Whether `refusal` depends on the stored item: if a refusal comes without it, the item is then read."""


class Presence(Enum):
    """Whether a write needs its item to be there."""

    ABSENT = auto()
    """It creates the item."""
    PRESENT = auto()
    """It changes or checks the item."""
    EITHER = auto()
    """It replaces or deletes what is there."""
    OWN = auto()
    """The condition of a layer decides."""


class WriteResult(Enum):
    """The result for the caller of a write."""

    NOTHING = auto()
    BEFORE = auto()
    """The entity before the write."""
    AFTER = auto()
    """The entity after the write."""


class _ModelOfKey:
    """A write's model, looked up once: a plan reads it ten times. As functools.cached_property, which takes a lock in
    Python 3.11."""

    def __get__(self, write: Write, owner: type[Write]) -> Model[Any]:
        model = write.key.model
        vars(write)["model"] = model
        return model


class Write(ABC):
    """One write of one item: what it sends, and what each flow that sends it has to know."""

    verb: ClassVar[str]
    presence: ClassVar[Presence] = Presence.OWN
    answer: ClassVar[WriteResult] = WriteResult.NOTHING
    always_guards: ClassVar[bool] = True
    """If its class has attached items, it is a transaction with them, whatever its values."""
    upgrades_item: ClassVar[bool] = False
    """An item of an older schema version is upgraded, then the write is planned again."""
    key: KeyOf[Any]
    model: ClassVar = _ModelOfKey()
    where: Condition | None = None
    """The caller's own condition; most writes of a layer have none."""
    expected: int | None = None
    """The count of writes that the caller has seen."""
    updates: tuple[Update, ...] = ()
    """The changes of single attributes that the caller asked for."""
    caller_copy: Any = UNREAD
    """The caller's copy of the item, in place of a read: the values that the plan uses become conditions."""
    number: int = 1
    """Its position among the caller's operations in a transaction, from 1. A merged write has the first one's."""

    def __init_subclass__(cls) -> None:
        """Keep a dataclass from a `repr` of its own, which would show the item's values."""
        super().__init_subclass__()
        cls.__repr__ = Write.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.key.shown}>"

    @property
    def stores_write_id(self) -> bool:
        """Whether the item gets the write id, by which a lost answer is settled. Alone; in a transaction none does."""
        return True

    @abstractmethod
    def main(self, current: Any, moment: Moment) -> WritePart | None:
        """The action on the item itself; None if the item has to be read first. `current` is UNREAD, None or the
        entity that was read."""

    def claims(self, current: Any) -> Iterable[AttachedChange]:
        """The changes of the attached items: guards of unique values, words of searches."""
        return ()

    def is_stale(self, current: Any, stored: Item | None, now: float) -> bool:
        """Whether a refusal came only from values that changed after they were read: it is then planned again."""
        return False

    def is_moot(self, stored: Item | None, now: float) -> bool:
        """Whether a refusal leaves nothing to do, whichever writer was first: its item was to go, and is gone."""
        return False

    @property
    def ignores_item(self) -> bool:
        """Whether it does the same whatever the item was."""
        return False

    def joined_with(self, other: Write) -> Write | None:
        """This write merged with another of the same item, in either order; None if this kind can't merge them."""
        return None

    def with_check(self, check: Write) -> Write | None:
        """This write with a check of the same item, or None."""
        return None

    def with_update(self, update: Write) -> Write | None:
        """This write with a later update of the same item, or None."""
        return None

    def advice(self, refusal: str) -> str:
        """The advice for the stored item if the service refuses the write with these words."""
        return ""

    def done(self) -> None:  # noqa: B027 most writes have nothing to note
        """Called after the write was applied."""
