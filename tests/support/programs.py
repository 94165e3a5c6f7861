"""The programs of the applications, and the role that each of their modules runs under."""

from __future__ import annotations

from collections.abc import Mapping

from tests.support.roles import Program

_GOALS = ("cli.py", "import_enhancements.py", "generated.py", "sample.py", "tour.py")
_MANHUNT = (
    *("actions.py", "actions_incidents.py", "audit.py", "check.py", "check_incidents.py", "erasure.py", "cli.py"),
    *("picture.py", "simulate.py", "storm.py", "tour.py"),
)
_ORGANISATIONS = ("actions.py", "cli.py", "check.py", "erasure.py", "import_github.py", "tour.py", "walkthrough.py")
_OF_THE_WORKER = {
    "manhunt": ("escalation.py", "worker.py"),
    "organisations": ("jobs.py", "deletion.py", "trail.py"),  # where a test calls what only a worker does
}


def _roles(operator: tuple[str, ...], application: str) -> Mapping[str, str]:
    return {**dict.fromkeys(operator, "Admin"), **dict.fromkeys(_OF_THE_WORKER.get(application, ()), "Worker")}


def _source(application: str) -> str:
    return f"examples/{application}/src/{application}"


PROGRAMS: Mapping[str, Program] = {
    "projects/tests/board": Program(_source("projects"), {}, "Web"),
    "projects/tests": Program(_source("projects"), {"counting.py": None}, "Operator"),
    "goals/tests": Program(_source("goals"), _roles(_GOALS, "goals"), "Web"),
    "manhunt/tests": Program(
        _source("manhunt"), _roles(_MANHUNT, "manhunt"), "Web", function="Functions", holds_keys=False
    ),
    "organisations/tests": Program(_source("organisations"), _roles(_ORGANISATIONS, "organisations"), "Web"),
}
"""By the folder of their tests in `examples`: the first that a test lies in."""
