"""The Date of an answer is what the standard library reads, and the usual form needs nothing of it."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from email.utils import formatdate, parsedate_to_datetime

import pytest
from hypothesis import given, strategies as st

from singletable.wire.http_date import seconds_of


@given(st.integers(datetime(1000, 1, 1, tzinfo=timezone.utc).timestamp().__trunc__(), 250_000_000_000))
def test_a_date_of_http_is_its_second(seconds: int) -> None:
    date = formatdate(seconds, usegmt=True)
    assert seconds_of(date.encode()) == seconds == parsedate_to_datetime(date).timestamp()


@pytest.mark.parametrize(
    "date",
    [
        b"Sunday, 06-Nov-94 08:49:37 GMT",
        b"Sun Nov  6 08:49:37 1994",
        b"Sun, 06 Nov 1994 09:49:37 +0100",
        b"6 Nov 1994 08:49:37 GMT",
        b"Sun, 06 Nov 1994 08:49:37 GMT",
    ],
)
def test_other_forms_of_a_date_are_read(date: bytes) -> None:
    assert seconds_of(date) == 784111777


@pytest.mark.parametrize(
    "date",
    [
        b"",
        b"soon",
        b"Sun, 31 Feb 1994 08:49:37 GMT",
        b"Sun, 06 Nov 1994 24:49:37 GMT",
        b"Sun, 06 Nov 0000 08:49:37 GMT",
        b"Sun, 06 Xyz 1994 08:49:37 GMT",
        b"\xff\xfe",
        "Sun, ٠٦ Nov 1994 08:49:37 GMT".encode(),
    ],
)
def test_what_is_not_a_date_is_none(date: bytes) -> None:
    assert seconds_of(date) is None


@pytest.fixture
def in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("in_tokyo")
def test_a_date_is_of_no_machine_s_own_time() -> None:
    assert seconds_of(b"Sun, 06 Nov 1994 08:49:37 GMT") == 784111777
    assert seconds_of(b"Sun Nov  6 08:49:37 1994") == 784111777
    assert seconds_of(b"Sun, 06 Nov 1994 08:49:37 -0000") == 784111777


def test_the_usual_form_loads_no_parser_of_mail() -> None:
    code = "import sys; from singletable.wire.http_date import seconds_of; seconds_of(b'Sun, 06 Nov 1994 08:49:37 GMT')"
    ran = subprocess.run(
        [sys.executable, "-c", f"{code}; print('email' in sys.modules)"], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "False\n"
