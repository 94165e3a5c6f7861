"""Resources of a deployment other than tables: queues of SQS and buckets of S3."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from singletable.errors import DeclarationError

FIFO_SUFFIX = ".fifo"
_NAME = re.compile(r"[A-Za-z0-9_-]{1,70}")  # SQS takes 80, and "-dead.fifo" is one of them


def words(*names: str) -> str:
    """Names as CloudFormation takes them: their letters and digits, `order-api` as `OrderApi`."""
    plain = "".join(c if c.isalnum() and c.isascii() else " " for c in " ".join(names))
    return "".join(word[:1].upper() + word[1:] for word in plain.split())


def refuse_collisions(deployment: str, kind: str, names: Sequence[str]) -> None:
    """DeclarationError for two names of one kind that differ in nothing that a template keeps."""
    taken: dict[str, str] = {}
    for name in names:
        plain = words(name)
        if not plain:
            raise DeclarationError(f"the {kind} {name!r} of {deployment} has no letter or digit in its name")
        if plain in taken:
            raise DeclarationError(
                f"the {kind}s {taken[plain]!r} and {name!r} of {deployment} would be one resource, {plain}",
                hint="Give each a name that differs in letters or digits: templates have nothing else in names.",
            )
        taken[plain] = name


@dataclass(frozen=True)
class MessageQueue:
    """A queue of SQS, with a second queue for messages that fail `tries` times."""

    name: str
    is_fifo: bool = False
    tries: int = 5
    handling_seconds: int = 300
    """The time that a message is hidden from others while it is handled."""

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise DeclarationError(
                f"invalid name of a queue {self.name!r}", hint="Letters, digits, - and _, 70 of them at most."
            )

    @property
    def stored_name(self) -> str:
        """The name in the account, which ends in `.fifo` for one that keeps an order."""
        return self.name + (FIFO_SUFFIX if self.is_fifo else "")

    @property
    def dead_letters(self) -> str:
        """The stored name of the queue of what its readers could not handle."""
        return f"{self.name}-dead" + (FIFO_SUFFIX if self.is_fifo else "")


@dataclass(frozen=True)
class BlobBucket:
    """A bucket of S3 for documents' blobs. Its name in the account is the stack's own."""

    name: str
