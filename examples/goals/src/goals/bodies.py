"""The JSON that the HTTP API takes."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from examples_shared.bodies import Input
from goals.activity import MOST_TEXT_CHARACTERS
from goals.model import Role, TeamRole
from goals.queries import PersonKey, person_key
from goals.role_names import ROLES, TEAM_ROLES, role_of
from goals.schemas import Kind

Text = Field(min_length=1, max_length=500)
OwnId = Field(default=None, min_length=1, max_length=500)
Short = Field(default="", max_length=100)


def _reader(kind: Any) -> BeforeValidator:
    def read(said: Any) -> Any:
        return said if said is None or isinstance(said, kind) else role_of(kind, str(said))

    return BeforeValidator(read)


RoleWord = Annotated[Role, _reader(Role), WithJsonSchema({"type": "string", "enum": list(ROLES)})]
TeamRoleWord = Annotated[TeamRole, _reader(TeamRole), WithJsonSchema({"type": "string", "enum": list(TEAM_ROLES)})]


class Who(Input):
    """A user, team or organisation by its id."""

    kind: Kind = "user"
    id: str = Text

    @property
    def key(self) -> PersonKey:
        return person_key(self.kind, self.id)


class PartIn(Input):
    """`was`: the role that the caller saw; refused where it is another by now."""

    who: Who
    role: RoleWord
    was: RoleWord | None = None


class TeamPartIn(Input):
    user: str = Text
    role: TeamRoleWord
    was: TeamRoleWord | None = None


class UserIn(Input):
    id: str = Text
    name: str = Text


class TeamIn(Input):
    """Without an id it gets one."""

    id: str | None = OwnId
    name: str = Text


class NameIn(Input):
    name: str = Text
    was: str | None = None


class GoalIn(Input):
    """The caller leads it, unless somebody else is named. Without an id it gets one."""

    id: str | None = OwnId
    title: str = Text
    team: str = Text
    lead: str | None = Field(default=None, min_length=1, max_length=500)
    due: str = Short


class GoalPartIn(Input):
    """A key result or sub-goal; the caller leads it, unless somebody else is named."""

    title: str = Text
    lead: str | None = Field(default=None, min_length=1, max_length=500)
    teams: list[str] = Field(default=[], max_length=50)
    due: str = Short
    position: str = Short


class GoalData(Input):
    """What is left out stays as it is."""

    title: str | None = Field(default=None, min_length=1, max_length=500)
    status: str | None = Field(default=None, max_length=100)
    progress: int | None = Field(default=None, ge=0, le=100)
    due: str | None = Field(default=None, max_length=100)


class GoalChangeIn(GoalData):
    """`was`: the values that the caller saw; refused, with both, where somebody else has changed the same."""

    was: GoalData = GoalData()


class CommentIn(Input):
    text: str = Field(min_length=1, max_length=MOST_TEXT_CHARACTERS)


class CheckInIn(Input):
    progress: int = Field(ge=0, le=100)
    status: str | None = Field(default=None, max_length=100)
    text: str = Field(default="", max_length=MOST_TEXT_CHARACTERS)
    was: GoalData = GoalData()
