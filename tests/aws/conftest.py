from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.emulators import running_emulator


@pytest.fixture(scope="session")
def aws_emulator() -> Iterator[str]:
    """One that no other folder's tests use: these list and delete what is there."""
    with running_emulator() as url:
        yield url
