"""The interface of a write for the flows that send it: it plans a part, which may be refused, from what is known."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from msgspec import Struct

from singletable.errors import SingletableError
from singletable.expressions import Condition
from singletable.operations import Action, Item
from singletable.records.unique_guards import Claim
from singletable.schema.models import Model
from singletable.schema.patterns import KeyOf


class _Unread:
    def __repr__(self) -> str:
        return "UNREAD"


UNREAD: Any = _Unread()
"""The item of a write was not read. None means that it was read and is missing."""


class Moment(Struct, frozen=True):
    """The time and the write id with which a write is planned."""

    now: float
    write_id: str = ""
    """A fresh text, the same for all tries of the write; none in a transaction, whose token settles a lost answer."""


def settles_nothing(_: Item | None) -> bool:
    return False


class Part(Struct, frozen=True):
    """One action of a write. `refusal` makes the error of a failed condition from the stored item."""

    action: Action
    refusal: Callable[[Item | None], SingletableError]
    settles: Callable[[Item | None], bool] = settles_nothing
    """Whether a stored item shows that an earlier try applied this part."""
    certain: bool = True
    """Whether a refusal after a lost answer can't come from the part's own earlier success."""
    refusal_needs_item: bool = True
    """Whether `refusal` depends on the stored item: if a refusal comes without it, the item is then read."""


class Needs:
    """The write can be planned only after its item was read."""


NEEDS = Needs()


class _ModelOfKey:
    """A write's model, looked up once: a plan reads it ten times. As functools.cached_property, which takes a lock in
    Python 3.11."""

    def __get__(self, write: Write, owner: type[Write]) -> Model[Any]:
        model = write.key.model
        vars(write)["model"] = model
        return model


class Write(ABC):
    """One write of one item."""

    verb: ClassVar[str]
    key: KeyOf[Any]
    model: ClassVar = _ModelOfKey()
    where: Condition | None = None
    """The caller's own condition; most writes of a layer have none."""
    caller_copy: Any = UNREAD
    """The caller's copy of the item, in place of a read: the values that the plan uses become conditions."""
    number: int = 1
    """Its position among the caller's operations in a transaction, from 1. A merged write has the first one's."""

    @abstractmethod
    def main(self, current: Any, moment: Moment) -> Part | Needs:
        """The action on the item itself. `current` is UNREAD, None or the entity as it was read."""

    def claims(self, current: Any) -> Iterator[Claim]:
        """The changes of the guards of the item's unique attributes."""
        return iter(())

    def is_stale(self, current: Any, stored: Item | None, now: float) -> bool:
        """Whether a refusal came only from values that changed after they were read: it is then planned again."""
        return False

    def joined_with(self, other: Write) -> Write | None:
        """This write merged with another of the same item, or None if this kind can't merge them."""
        return None

    def advice(self, refusal: str) -> str:
        """What to do where the service refuses the write, in these words, for what is stored."""
        return ""

    def done(self) -> None:  # noqa: B027 most writes have nothing to note
        """Called after the write was applied."""
