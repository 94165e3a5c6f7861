"""What the HTTP API takes and gives."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, Field

from examples_shared.bodies import Input

Item = Any
"""A shape or a comment, as it is stored: any JSON."""


class NameIn(Input):
    name: str = Field(max_length=200)


class VersionIn(Input):
    version: int = Field(ge=0)


class ProjectOut(BaseModel):
    id: str
    name: str
    version: int
    time: datetime


class ProjectsOut(BaseModel):
    projects: list[ProjectOut]
    after: str | None


class AppliedOut(BaseModel):
    """A mutation of a version. `rejected`: its id is used up, and nothing was changed."""

    client: str
    id: int
    name: str
    rejected: bool


class VersionOut(BaseModel):
    version: int
    time: datetime
    mutations: list[AppliedOut]


class HistoryOut(BaseModel):
    """Newest first."""

    versions: list[VersionOut]
    after: str | None


class SnapshotOut(BaseModel):
    project: str
    version: int
    time: datetime
    name: str
    description: str
    shapes: Mapping[str, Item]
    comments: Mapping[str, Item]


class ChangeOut(BaseModel):
    before: Item
    after: Item


class ItemsDifferenceOut(BaseModel):
    added: Mapping[str, Item]
    changed: Mapping[str, ChangeOut]
    removed: Mapping[str, Item]


class DifferenceOut(BaseModel):
    scalars: Mapping[str, ChangeOut]
    shapes: ItemsDifferenceOut
    comments: ItemsDifferenceOut


class VersionMadeOut(BaseModel):
    version: int


class BranchIn(Input):
    version: int | None = Field(default=None, ge=0)


class ChoiceIn(Input):
    """Which side to keep of one conflict."""

    collection: str
    id: str
    side: Literal["ours", "theirs"]


class MergeIn(Input):
    """`prefer` is for all conflicts of which `choose` does not say which side to keep."""

    onto: str
    prefer: Literal["ours", "theirs"] | None = None
    choose: list[ChoiceIn] = Field(default_factory=list[ChoiceIn], max_length=1000)


class OriginOut(BaseModel):
    project: str
    version: int


class BranchOut(ProjectOut):
    origin: OriginOut | None
    """The version that it was branched from; null for the first board of the family."""


class BranchesOut(BaseModel):
    branches: list[BranchOut]


class ConflictOut(BaseModel):
    """An item that both changed, with its three contents; null where there is none. Without `collection` a value."""

    collection: str
    id: str
    base: Item
    ours: Item
    theirs: Item


class MergeOut(BaseModel):
    """`merged` is false where conflicts are left: then nothing was written. `version` is null where nothing was new."""

    merged: bool
    version: int | None
    taken: int
    """How many changes were taken. The difference of the versions lists those that a user may see."""
    conflicts: list[ConflictOut]
    hidden: int
    """How many conflicts more there are, of items that others alone see. `prefer` decides them."""


class TagIn(Input):
    name: str = Field(min_length=1, max_length=200)
    version: int | None = Field(default=None, ge=0)


class TagOut(BaseModel):
    name: str
    version: int


class TagsOut(BaseModel):
    tags: list[TagOut]
    after: str | None


class ChangerOut(BaseModel):
    client: str
    id: int
    name: str
    user: str | None


class ItemChangeOut(BaseModel):
    project: str
    version: int
    time: datetime
    change: Literal["added", "changed", "removed"]
    by: list[ChangerOut]


class ItemHistoryOut(BaseModel):
    """Newest first. It goes on in the board that this one was branched from.

    Older ones: ask the last one's `project`, with its `version` as `before`.
    """

    changes: list[ItemChangeOut]
