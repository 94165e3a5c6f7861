"""What the HTTP API takes and gives."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

Item = Any
"""A shape or a comment, as it is stored: any JSON."""


class NameIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(max_length=200)


class VersionIn(BaseModel):
    model_config = ConfigDict(extra="forbid")

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
