"""What a deployment has besides tables: queues of SQS and buckets of S3."""

from __future__ import annotations

from dataclasses import dataclass

FIFO_SUFFIX = ".fifo"


@dataclass(frozen=True)
class MessageQueue:
    """A queue of SQS, with a queue beside it for messages that fail `tries` times."""

    name: str
    is_fifo: bool = False
    tries: int = 5
    handling_seconds: int = 300
    """How long a message is hidden from others while it is handled."""

    @property
    def stored_name(self) -> str:
        """The name in the account, which ends in `.fifo` for one that keeps an order."""
        return self.name + (FIFO_SUFFIX if self.is_fifo else "")


@dataclass(frozen=True)
class BlobBucket:
    """A bucket of S3 for documents' blobs. Its name in the account is the stack's own."""

    name: str
