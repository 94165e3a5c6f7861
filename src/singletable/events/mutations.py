"""The events of documents' mutations, and of the clients that send them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

from singletable.events.event import Event, Problem, described


class MutationsWaiting(Problem, frozen=True, kw_only=True):
    """Mutations can't be applied now, and stay in the inbox; at WARNING until a person acts, or a later call does."""

    logger: ClassVar[str] = "singletable.documents"
    levels: ClassVar[tuple[str, ...]] = ("INFO", "WARNING")

    document: str
    """The class of the document."""
    key_hash: str
    why: str
    is_retried: bool = False
    """They are applied soon, without a person."""

    @property
    def level(self) -> int:
        return 20 if self.is_retried else 30

    @property
    def text(self) -> str:
        return f"{self.document} ({self.key_hash}): mutations wait: {self.why}"


class MutationsDropped(Problem, frozen=True, kw_only=True):
    """Mutations are deleted without being applied: one before them never came, or their document was deleted."""

    logger: ClassVar[str] = "singletable.documents"
    levels: ClassVar[tuple[str, ...]] = ("INFO", "WARNING")

    document: str
    key_hash: str
    why: str
    is_expected: bool = False
    """The document was deleted."""

    @property
    def level(self) -> int:
        return 20 if self.is_expected else 30

    @property
    def text(self) -> str:
        return f"{self.document} ({self.key_hash}): mutations are dropped: {self.why}"


class MutationRejected(Event, frozen=True, kw_only=True):
    """A mutation was rejected: its function, or `authorise`, raised, or its result is over a limit. The version that
    says so is committed."""

    logger: ClassVar[str] = "singletable.documents"
    levels: ClassVar[tuple[str, ...]] = ("INFO",)
    shows_traceback: ClassVar[bool] = True

    document: str
    key_hash: str
    mutation: str
    """Its name; `unknown` for one that is not declared."""
    error: BaseException | None
    """None for a result that is too large."""

    @property
    def text(self) -> str:
        why = "its result is too large" if self.error is None else described(self.error)
        return f"{self.document} ({self.key_hash}): mutation {self.mutation} was rejected: {why}"

    @property
    def cause(self) -> Hashable:
        return self.document, self.mutation, type(self.error)


class MutationStuck(Problem, frozen=True, kw_only=True):
    """A mutation does not end: it was rejected, and its thread takes time until the process ends."""

    logger: ClassVar[str] = "singletable.documents"
    levels: ClassVar[tuple[str, ...]] = ("ERROR",)

    document: str
    mutation: str
    """The name of the mutation."""

    @property
    def text(self) -> str:
        return f"the mutation {self.mutation} of {self.document} does not end, and takes time until the process ends"


class AnswerRefused(Problem, frozen=True, kw_only=True):
    """A function of the application failed while a client's request was decided, which counts as a refusal."""

    logger: ClassVar[str] = "singletable.sync"
    shows_traceback: ClassVar[bool] = True

    function: str
    """`authorise`, or `view` for a view's predicate."""
    then: str
    error: Exception

    @property
    def text(self) -> str:
        return f"{self.function} failed with {described(self.error)}: {self.then}"


class ClientResetNeeded(Problem, frozen=True, kw_only=True):
    """A client group can't go on: its clients drop their copies and pull everything."""

    logger: ClassVar[str] = "singletable.sync"

    document: str
    key_hash: str
    why: str

    @property
    def text(self) -> str:
        return f"{self.document} ({self.key_hash}): a client group has to pull everything: {self.why}"
