"""The application under its deployed roles: what it asks for is allowed, and what lies a step outside of it is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from examples.organisations.tests.support import MEMBER, OWNER, STRANGER
from organisations.deployment import deployment, web
from organisations.groups import Group
from organisations.mail import Post
from organisations.model import GroupMember, Organisation, OrganisationMember, TrailEntry
from organisations.service import Service
from organisations.worker import drain
from singletable_deploy import Deployment, Grant, Role, checks, creates, deletes, updates
from singletable_deploy.cloudformation import template
from singletable_deploy.record_grants import Pattern
from singletable_deploy.statements import Statement
from tests.support.iam import Attempt, is_allowed
from tests.support.mutations import KEYS
from tests.support.programs import PROGRAMS
from tests.support.roles import Recorded, recording
from tests.support.templates import statements_of

PROGRAM = PROGRAMS["organisations/tests"]


@pytest.fixture
def recorded(app: Service, org: str, monkeypatch: pytest.MonkeyPatch) -> Recorded:
    """What the programs ask for while an organisation is used and deleted."""
    found = Recorded(deployment, PROGRAM)
    recording(monkeypatch, found)
    app.put_service(org, "web", "The pages", by=OWNER)
    app.invite(org, STRANGER, by=OWNER)
    app.decline(org, STRANGER)
    app.organisation_details(org, by=OWNER)
    app.refresh_user(MEMBER)
    app.put_organisation(org, "New", by=OWNER)
    app.put_user(MEMBER, first_name="G", phone="1")
    app.get_organisation(org, by=MEMBER)
    app.add_to_groups(org, MEMBER, [Group("crew"), Group("listener", "web")], by=OWNER)
    app.remove_from_groups(org, MEMBER, [Group("crew")], by=OWNER)
    app.send_message(org, Group("listener", "web"), "All is well", by=OWNER)
    drain(app.db, Post(lambda message: None))
    app.delete_organisation(org, by=OWNER)
    drain(app.db, Post(lambda message: None))
    return found


def test_each_program_may_do_what_it_does(recorded: Recorded) -> None:
    assert recorded.refused == []
    by_role = {role for role, _ in recorded.attempts}
    assert by_role == {"Web", "Worker"}
    actions = {attempt.action.partition(":")[2] for _, attempt in recorded.attempts}
    assert actions >= {"GetItem", "PutItem", "UpdateItem", "DeleteItem", "ConditionCheckItem", "Query"}
    assert actions >= {"BatchGetItem", "BatchWriteItem", "GetRecords", "DescribeStream"}


def test_a_thousand_requests_a_step_outside_are_refused(recorded: Recorded) -> None:
    judged, escaped = recorded.escaped()
    assert judged >= 1000
    assert escaped == []


@pytest.mark.parametrize("fault", ["ForAllValues:StringLike", "Null"])
def test_a_policy_without_one_of_its_conditions_is_noticed(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    whole: Any = vars(Statement)["condition"].fget
    monkeypatch.setattr(
        Statement, "condition", property(lambda self: {k: v for k, v in whole(self).items() if k != fault})
    )
    broken = Recorded(deployment, PROGRAM, recorded.attempts)
    escaped = {what for _, what, _ in broken.escaped()[1]}
    assert escaped == ({"key", "one key of several"} if fault.startswith("For") else {"no key"})


def test_a_role_of_one_tenant_reaches_no_other(recorded: Recorded, org: str) -> None:
    """The same patterns, for a session that is tagged with its organisation."""
    may: list[Pattern | Grant] = [
        Organisation.by_id,
        OrganisationMember.of_organisation,
        GroupMember.of_scope,
        TrailEntry.of_organisation,
        creates(Organisation, OrganisationMember, GroupMember),
        updates(Organisation, OrganisationMember),
        deletes(OrganisationMember, GroupMember),
        checks(Organisation),
    ]
    role = Role("tenant", may, where={"organisation_id": "${aws:PrincipalTag/organisation}"})
    held = statements_of(template(Deployment("tenant", deployment.tables, [role])), "Tenant")
    own = [attempt for _, attempt in recorded.attempts if _is_of(attempt, org)]
    assert len(own) > 20
    for tag, is_own in ((org, True), ("another", False), (org[:-1], False)):
        tagged = [replace(a, context={**a.context, "aws:PrincipalTag/organisation": (tag,)}) for a in own]
        assert [a for a in tagged if is_allowed(held, a) is not is_own] == []


def _is_of(attempt: Attempt, org: str) -> bool:
    """A request of the web's whose partitions are all of one organisation."""
    keys = attempt.context.get(KEYS, ())
    named = all(key.startswith((f"organisation/{org}", f"groupsOf/{org}/", f"trail/{org}")) for key in keys)
    return (
        bool(keys) and named and attempt.action.endswith((":GetItem", ":Query", ":UpdateItem", ":ConditionCheckItem"))
    )


def test_the_web_is_held_to_partitions_and_never_scans() -> None:
    actions = {action for access in web.accesses for action in access.actions}
    assert "Scan" not in actions
    assert all(access.partitions for access in web.accesses)
