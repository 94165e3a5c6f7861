"""Stands for what the suite imports from the rest of its repository, which needs what is not installed here."""

from __future__ import annotations

from typing import NoReturn

import pytest


def dynamic_scope() -> str:
    """The scope of the suite's shared fixtures."""
    return "session"


@pytest.fixture(scope="session")
def host() -> str:
    """No host: the address comes by --url."""
    return ""


def skip_env(reason: str) -> NoReturn:
    pytest.skip(reason)


def skip_bug(*, link: str, reason: str) -> NoReturn:
    pytest.skip(f"{reason} ({link})")


def add_host_option(parser: pytest.Parser) -> None:
    parser.addoption("--host", default="127.0.0.1")


def safe_driver_shutdown(cluster: object) -> NoReturn:
    raise AssertionError("there is no such driver here")
