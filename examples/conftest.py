"""What the repository adds to the applications' tests: engines one after another, and roles that requests are held to.

An application's own tests run without it, on private engines: nothing there imports it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from examples_shared.testing.databases import SOURCE
from singletable_deploy import Deployment
from tests.support.engines import fresh, fresh_async
from tests.support.programs import PROGRAMS
from tests.support.roles import Judge, Recorded, check_held, recording

HERE = Path(__file__).parent
SOURCE.blocking, SOURCE.awaiting = fresh, fresh_async


@pytest.fixture(autouse=True)
def held_to_its_role(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A test fails whose application asks for what the deployed template does not allow."""
    folder = request.path.parent.relative_to(HERE)
    tests = next((tests for tests in PROGRAMS if folder.is_relative_to(tests)), None)
    if tests is None:
        yield
        return
    deployment = deployment_of(tests.partition("/")[0])
    recorded = Recorded(deployment, PROGRAMS[tests], judge=judge_of(tests))
    recording(monkeypatch, recorded)
    yield
    check_held(recorded)


@cache
def judge_of(tests: str) -> Judge:
    return Judge(deployment_of(tests.partition("/")[0]), holds_keys=PROGRAMS[tests].holds_keys)


def deployment_of(application: str) -> Deployment:
    deployment: Deployment = import_module(f"{application}.deployment").deployment
    return deployment
