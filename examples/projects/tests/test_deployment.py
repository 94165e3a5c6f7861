"""The command line under its deployed role: what it asks for is allowed, and what lies a step outside of it is not."""

from __future__ import annotations

import pytest

from projects.deployment import blobs, deployment
from projects.model import Project, move_shape, projects, put_shape
from projects.service import Service
from singletable_deploy import Deployment, Role, edits, opens
from singletable_deploy.cloudformation import template
from tests.support.iam import Attempt, is_allowed
from tests.support.roles import Program, Recorded, recording
from tests.support.templates import statements_of

PROGRAM = Program("examples/projects/tests", {}, "Web")


def test_documents_are_edited_under_the_role_of_the_web(app: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = Recorded(deployment, PROGRAM)
    recording(monkeypatch, recorded)
    boards = app.boards
    boards.create("o1", "p1", name="Atlas")
    boards.apply("p1", [put_shape(id="s1", shape={"kind": "note", "x": 1, "y": 1}).by("ada", 1)])
    boards.apply("p1", [move_shape(id="s1", x=3, y=4).by("ada", 2)])
    boards.tag("p1", "first", version=1)
    boards.branch("p1", "p2")
    assert boards.head("p1").version == 2
    assert len(boards.history("p1").items) == 3
    assert boards.page("o1").items
    assert recorded.refused == []
    judged, escaped = recorded.escaped()
    assert judged > 100
    assert escaped == []


def test_contents_are_in_the_bucket_and_only_the_collector_deletes() -> None:
    made = template(deployment)
    rights = {
        role: {a for s in statements_of(made, role) if "s3" in str(s["Resource"]) for a in s["Action"]}
        for role in ("Web", "Operator")
    }
    assert rights["Web"] == {"s3:GetObject", "s3:PutObject"}
    assert rights["Operator"] == {"s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:ListBucket"}


def test_a_role_of_one_document_reaches_no_other() -> None:
    where = {"document_id": "${aws:PrincipalTag/project}", "parent": "o1"}
    tenant = Role("tenant", [edits(Project)], where=where)
    held = statements_of(template(Deployment("projects", [projects], [tenant])), "Tenant")
    table = "arn:aws:dynamodb:eu-central-1:123456789012:table/projects"
    for key, is_one in (("Project#p1", True), ("Project#p12", False), ("Organisation#o1", True), ("Project#p2", False)):
        context = {"dynamodb:LeadingKeys": (key,), "aws:PrincipalTag/project": ("p1",)}
        assert is_allowed(held, Attempt("dynamodb:PutItem", table, context)) is is_one


def test_a_reader_writes_nothing() -> None:
    reader = Role("reader", [opens(Project, blobs=blobs)])
    actions = {action for access in reader.accesses for action in access.actions}
    assert actions == {"GetItem", "BatchGetItem", "Query", "GetObject"}
