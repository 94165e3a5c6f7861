"""An application's suite fails where a request is not allowed, or one a step outside is."""

from __future__ import annotations

import pytest

from goals.deployment import deployment
from tests.support.iam import Attempt
from tests.support.programs import PROGRAMS
from tests.support.roles import ADMIN, Recorded, check_held

TABLE = "arn:aws:dynamodb:eu-central-1:123456789012:table/records"


def recorded(*attempts: tuple[str, Attempt]) -> Recorded:
    return Recorded(deployment, PROGRAMS["goals/tests"], list(attempts))


def test_what_is_allowed_passes() -> None:
    context = {"dynamodb:LeadingKeys": ("GOAL-g1",)}
    check_held(recorded(("Web", Attempt("dynamodb:GetItem", TABLE, context)), (ADMIN, Attempt("dynamodb:Scan", TABLE))))


def test_what_was_refused_fails() -> None:
    found = recorded()
    found.refused.append("Web may not scan")
    with pytest.raises(pytest.fail.Exception, match="Web may not scan"):
        check_held(found)


def test_a_step_outside_that_is_allowed_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """As under a policy that holds nobody to anything."""
    everything = [{"Effect": "Allow", "Action": ["dynamodb:*"], "Resource": "*"}]
    found = recorded(("Web", Attempt("dynamodb:GetItem", TABLE, {"dynamodb:LeadingKeys": ("GOAL-g1",)})))
    monkeypatch.setitem(found._judge._statements, "Web", everything)
    with pytest.raises(pytest.fail.Exception, match="outside of their roles are allowed"):
        check_held(found)
