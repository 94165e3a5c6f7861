"""The actions: each one transaction that holds what it needs, so nothing is half done and nothing is lost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from examples.goals.errors import AlreadyThere, Invalid, Missing, NotALead
from examples.goals.model import (
    Goal,
    GoalKind,
    GoalMembership,
    KeyResult,
    Organisation,
    PartOf,
    Role,
    SubGoal,
    Subscriber,
    Team,
    TeamMembership,
    TeamOrganisation,
    TeamRole,
    User,
    id_of,
)
from examples.goals.queries import HolderKey, PersonKey, membership_of
from singletable import AlreadyExists, Database, NotFound, TransactionCancelled, Update, attr, key_of
from singletable.graph import Edge, Graph, Node, link

AnyEdge = Edge[Any, Any]


# --- goals ------------------------------------------------------------------------------------------------------------
def create(db: Database, node: Node) -> None:
    try:
        db.create(node)
    except AlreadyExists as error:
        raise AlreadyThere(f"there is a {type(node).__name__.lower()} {node.id!r} already") from error


def create_team(db: Database, team_id: str, name: str, organisation_id: str) -> Team:
    team, organisation = Team(id=team_id, name=name), Organisation.by_id(organisation_id)
    create(db, team)
    edge = TeamOrganisation(source=team, target=organisation, name=name)
    try:
        Graph(db).link(edge)
    except NotFound:
        db.upsert(Organisation(id=organisation_id, name=organisation_id.capitalize()))
        Graph(db).link(edge)
    return team


def create_goal(
    db: Database, now: datetime, goal_id: str, title: str, lead: PersonKey, holder: HolderKey, due: str
) -> Goal:
    made = Goal(id=goal_id, title=title, created=now.date(), due=due)
    parts = ((lead, Role.LEAD), (holder, Role.TEAM))
    return _create_with(
        db, made, [GoalMembership(source=made, target=who, role=role, since=now.date()) for who, role in parts]
    )


def add_part(
    db: Database, now: datetime, goal_id: str, id: str, kind: GoalKind, title: str, lead: PersonKey, position: str
) -> Goal:
    made, objective = Goal(id=id, title=title, kind=kind, created=now.date()), Goal.by_id(goal_id)
    joins = KeyResult if kind is GoalKind.KEY_RESULT else SubGoal
    edges: list[AnyEdge] = [
        joins(source=objective, target=made, position=position),
        PartOf(source=made, target=objective, since=now.date()),
        membership_of(made)(source=made, target=lead, role=Role.LEAD, since=now.date()),
    ]
    return _create_with(db, made, edges)


def change_goal(db: Database, goal_id: str, updates: Sequence[Update]) -> Goal:
    try:
        return db.update(Goal.by_id(goal_id), *updates)
    except NotFound as error:
        raise Missing("goal", goal_id) from error


# --- who has a part ---------------------------------------------------------------------------------------------------
def join(db: Database, now: datetime, goal_id: str, who: PersonKey, role: Role) -> None:
    goal = _goal(db, goal_id)
    _check_fits(who, role)
    try:
        Graph(db).link(membership_of(goal)(source=goal, target=who, role=role, since=now.date()))
    except AlreadyExists as error:
        raise AlreadyThere(f"{id_of(who)!r} has a part in goal {goal_id!r} already") from error
    except NotFound as error:
        raise _missing(error, goal_id) from error


def change_role(db: Database, goal_id: str, who: PersonKey, role: Role) -> None:
    membership = membership_of(_goal(db, goal_id))
    _check_fits(who, role)
    edge: Any = membership.between(Goal.by_id(goal_id), who)
    try:
        Graph(db).relink(edge, attr(membership.role).set(role))
    except NotFound as error:
        raise Missing(f"part in goal {goal_id!r} of", id_of(who)) from error


def leave(db: Database, goal_id: str, who: PersonKey) -> bool:
    membership = membership_of(_goal(db, goal_id))
    return Graph(db).unlink(membership.between(Goal.by_id(goal_id), who))


def check_leads(db: Database, goal_id: str, user_id: str) -> None:
    membership = membership_of(_goal(db, goal_id))
    found = db.get(membership.between(Goal.by_id(goal_id), User.by_id(user_id)).consistent())
    if found is None or found.role is not Role.LEAD:
        raise NotALead(goal_id, user_id)


# --- subscribers and team members -------------------------------------------------------------------------------------
def subscribe(db: Database, now: datetime, goal_id: str, user_id: str) -> bool:
    try:
        Graph(db).link(Subscriber(source=Goal.by_id(goal_id), target=User.by_id(user_id), since=now))
    except AlreadyExists:
        return False
    except NotFound as error:
        raise _missing(error, goal_id) from error
    return True


def unsubscribe(db: Database, goal_id: str, user_id: str) -> bool:
    return Graph(db).unlink(Subscriber.between(Goal.by_id(goal_id), User.by_id(user_id)))


def join_team(db: Database, now: datetime, user_id: str, team_id: str, role: TeamRole) -> None:
    edge = TeamMembership(source=User.by_id(user_id), target=Team.by_id(team_id), role=role, since=now.date())
    try:
        Graph(db).link(edge)
    except AlreadyExists:
        key: Any = key_of(edge)
        Graph(db).relink(key, attr(TeamMembership.role).set(role))
    except NotFound as error:
        raise _missing(error, user_id) from error


# --- shared -----------------------------------------------------------------------------------------------------------
def _create_with(db: Database, made: Goal, edges: Sequence[AnyEdge]) -> Goal:
    """A goal, then all its edges in one transaction; without those the goal is taken away again."""
    create(db, made)
    try:
        with db.transaction() as tx:
            for edge in edges:
                tx.add(link(edge))
    except TransactionCancelled as cancelled:
        Graph(db).delete_node(made)
        error = cancelled.failures[0].error
        if isinstance(error, NotFound):
            raise _missing(error, made.id) from cancelled
        raise
    return made


def _goal(db: Database, goal_id: str) -> Goal:
    goal = db.get(Goal.by_id(goal_id).consistent())
    if goal is None:
        raise Missing("goal", goal_id)
    return goal


def _check_fits(who: PersonKey, role: Role) -> None:
    if (who.kinds[0] is User) is (role is Role.TEAM):
        raise Invalid("a user leads or contributes; a team or organisation has the role TEAM")


def _missing(error: NotFound, otherwise: str) -> Missing:
    """Which node of a link was not there, as the library's error says it."""
    key: Any = error.key
    return Missing("node", otherwise) if key is None else Missing(key.kinds[0].__name__.lower(), id_of(key))
