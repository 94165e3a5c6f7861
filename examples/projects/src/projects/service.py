"""The application's own surface: boards and repositories in one table, whichever of the two a project is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timezone

from projects.errors import Invalid, Missing, Refused
from projects.model import Project, Repository, projects
from projects.rights import check_may_change
from singletable import AlreadyExists, Database, NotFound, Page
from singletable.documents import (
    BlobStore,
    Documents,
    Listing,
    LocalBlobs,
    Mutation,
    ObjectBlobs,
    Outcome,
    Replay,
    Version,
)

MAX_FILE_BYTES = 256 * 1024 * 1024
"""Of one file of a repository, as JSON."""
CLIENT = "operator"
"""Who restores."""
PAGE = 1000
REMOTE = ("s3", "gs", "az", "memory")
"""Kinds of addresses; a directory is none, since ours is durable and obstore's is not."""

AnyDocuments = Documents[Project] | Documents[Repository]
AnyProject = Project | Repository


class Service:
    """Every query and action of the command line; the board stands on documents of its own."""

    def __init__(self, db: Database, blobs: BlobStore) -> None:
        self.db, self.blobs = db, blobs
        self.boards = Documents(db, Project, blobs=blobs, authorise=check_may_change)
        self.repositories = repositories_of(db, blobs)

    def create_table(self) -> str:
        """Create the table, or find it; gives its name."""
        return self.db.create_table(projects).name

    # --- writes -------------------------------------------------------------------------------------------------------
    def create_board(self, organisation: str, id: str, name: str, description: str) -> Project:
        """An empty board. Refused where its id is taken."""
        try:
            return self.boards.create(organisation, id, name=name, description=description)
        except AlreadyExists as error:
            raise Refused(f"there is a board {id!r} already") from error

    def mutate(self, id: str, name: str, arguments: str) -> int:
        """Run a mutation on a board, its arguments as JSON; gives the version that this makes.

        Invalid for what is not JSON, or not a mutation with its arguments; Refused for one that was rejected, which
        is a version too.
        """
        known = self.boards.context.model.mutators
        if name not in known:  # submitted, it would wait for a program that has it
            raise Invalid(f"a board has no mutation {name!r}; it has {', '.join(sorted(known))}")
        try:
            mutation = Mutation.of(name, json.loads(arguments))
        except ValueError as error:
            raise Invalid(f"the arguments of {name} are no JSON: {error}") from error
        unknown = known[name].unknown_in(mutation.arguments)
        if unknown is not None:  # submitted, it would wait for a program that has it
            raise Invalid(f"{name} takes no argument {unknown!r}")
        try:
            place = self.boards.submit_next(id, CLIENT, mutation)
        except NotFound as error:
            raise Missing(f"there is no board {id!r}") from error
        self.boards.process(id)
        (outcome,) = self.boards.outcomes(id, [(place.client, place.id)])
        return _version_of(outcome)

    def replay(self, id: str, since: int, onto: str) -> Replay:
        """Apply the mutations of a project's versions after one to another project of its kind. Missing."""
        documents = self.documents_of(id)
        if self.documents_of(onto).context.kind is not documents.context.kind:
            raise Refused(f"{id!r} and {onto!r} are not of one kind: one is a board, the other a repository")
        return documents.replay(id, since=since, onto=onto)

    def branch(self, id: str, new: str, version: int | None) -> AnyProject:
        """A new project that begins as a version of another, the newest by default."""
        try:
            return self.documents_of(id).branch(id, new, version=version)
        except AlreadyExists as error:
            raise Refused(f"there is a project {new!r} already") from error
        except NotFound as error:
            raise Missing(f"project {id!r} has no version {version}") from error

    def restore(self, id: str, version: int) -> int:
        """Make a project what it was in a version; gives the number of the version that this makes."""
        try:
            outcome = self.documents_of(id).restore(id, version=version, by=CLIENT)
        except NotFound as error:
            raise Missing(f"project {id!r} has no version {version}") from error
        return _version_of(outcome)

    # --- reads --------------------------------------------------------------------------------------------------------
    def documents_of(self, id: str) -> AnyDocuments:
        """The documents that a project is one of. One request for a board, two for a repository. Missing."""
        for documents in (self.boards, self.repositories):
            try:
                documents.head(id, collections=())
            except NotFound:
                continue
            return documents
        raise Missing(f"there is no project {id!r}")

    def version(self, id: str, version: int | None = None, time: datetime | None = None) -> AnyProject:
        """A version by its number or by a time, else the newest. Missing."""
        documents = self.documents_of(id)
        try:
            if version is None and time is None:
                return documents.head(id)
            return documents.at(id, version=version, time=_in_utc(time))
        except NotFound as error:
            raise Missing(f"project {id!r} has no version {version if time is None else f'of {time}'}") from error

    def repository(self, id: str, version: int) -> Repository:
        """A version of a repository. Missing."""
        found = self.version(id, version)
        if not isinstance(found, Repository):
            raise Missing(f"there is no repository {id!r}; it is a board, which has no files")
        return found

    def history(self, id: str, limit: int, after: str | None) -> Page[Version]:
        """A page of versions, newest first."""
        return self.documents_of(id).history(id, limit=limit, after=after)

    def projects(self, organisation: str) -> list[tuple[str, Listing]]:
        """Every project of an organisation, boards first, each kind by ids."""
        boards = [("board", row) for row in _every(self.boards, organisation)]
        return boards + [("repository", row) for row in _every(self.repositories, organisation)]


def repositories_of(db: Database, blobs: BlobStore) -> Documents[Repository]:
    """The repositories alone, as the import needs them."""
    return Documents(db, Repository, blobs=blobs, max_content_bytes=MAX_FILE_BYTES)


def _version_of(outcome: Outcome | None) -> int:
    """The version that a mutation made. Refused where it was rejected, or has to wait."""
    if outcome is None or outcome.version is None:
        raise Refused("the mutation waits for another of its client: try again")
    if outcome.error is not None:
        raise Refused(f"{outcome.name} was rejected, as version {outcome.version}: {outcome.error}")
    return outcome.version


def blobs_at(place: str) -> BlobStore:
    """A directory, or what obstore takes as an address: `s3://bucket/prefix`. Invalid for another kind of address."""
    if "://" not in place:
        return LocalBlobs(place)
    if place.partition("://")[0] not in REMOTE:
        raise Invalid(f"blobs lie in a directory, or at one of {', '.join(REMOTE)}; not at {place!r}")
    from obstore.exceptions import BaseError  # noqa: PLC0415 a directory needs none of it
    from obstore.store import from_url  # noqa: PLC0415

    try:
        return ObjectBlobs(from_url(place))
    except BaseError as error:
        raise Invalid(f"no blob store is at {place!r}: {str(error).partition(chr(10))[0]}") from error


def _every(documents: AnyDocuments, organisation: str) -> Iterator[Listing]:
    after: str | None = None
    while True:
        page = documents.page(organisation, limit=PAGE, after=after)
        yield from page
        after = page.cursor
        if after is None:
            return


def _in_utc(time: datetime | None) -> datetime | None:
    return time if time is None or time.tzinfo is not None else time.replace(tzinfo=timezone.utc)
