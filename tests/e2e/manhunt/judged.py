"""The fixture by which a module's every request is held to the role of the program that makes it."""

from __future__ import annotations

from examples.manhunt.deployment import deployment
from tests.support.roles import Program, held_to_roles

OPERATOR = ("cli.py", "check.py", "check_incidents.py", "tour.py", "simulate.py", "storm.py", "audit.py", "picture.py")
ROLES = {**dict.fromkeys(OPERATOR, "Admin"), "escalation.py": "Worker", "worker.py": "Worker"}
PROGRAM = Program("examples/manhunt", ROLES, "Web", function="Functions", holds_keys=False)
held = held_to_roles(deployment, PROGRAM)
