"""Where credentials come from, when they are fetched again, and that they are never shown."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from singletable import errors
from singletable.wire import Credentials, FetchedCredentials, StaticCredentials, credentials_from

KEYS = {"AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "hush"}


@pytest.fixture
def aws_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """botocore reads the process's environment: point it at empty files and away from the network."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    return tmp_path


def test_nothing_shows_a_secret() -> None:
    shown = repr(Credentials("AKID", "hush", "token-hush")) + str(Credentials("AKID", "hush", "token-hush"))
    assert "AKID" in shown
    assert "hush" not in shown


@pytest.mark.parametrize("text", ["a\n", "a\r\nX-Other: b", " key", "é"])
def test_what_would_break_a_header_is_refused(text: str) -> None:
    for keys in ((text, "s"), ("a", text), ("a", "s", text)):
        with pytest.raises(errors.NotConfigured) as raised:
            Credentials(*keys)
        assert text not in str(raised.value)


def test_of_the_environment() -> None:
    source = credentials_from(KEYS | {"AWS_SESSION_TOKEN": "t"})
    cached = source.cached(0.0)  # without `fetch`, for which an event loop begins a thread
    assert cached is not None
    assert (cached.access_key, cached.secret_key, cached.session_token) == ("AKID", "hush", "t")
    assert source.fetch(0.0) is source.cached(1e12) is cached


def test_those_of_the_environment_are_read_again_when_they_have_expired() -> None:
    environ = dict(KEYS)
    source = credentials_from(environ)
    assert source.fetch(0.0, renew=True) == source.cached(0.0) == Credentials("AKID", "hush")
    environ["AWS_ACCESS_KEY_ID"] = "NEXT"
    assert source.cached(0.0) == Credentials("AKID", "hush")
    assert source.fetch(0.0, renew=True) is source.cached(0.0)
    assert source.cached(0.0) == Credentials("NEXT", "hush")


def test_half_an_environment_says_which_half_is_missing() -> None:
    with pytest.raises(errors.NotConfigured, match="AWS_SECRET_ACCESS_KEY is not set"):
        credentials_from({"AWS_ACCESS_KEY_ID": "AKID"}).cached(0.0)


def test_a_local_engine_needs_none() -> None:
    assert isinstance(credentials_from({}, local=True), StaticCredentials)
    assert credentials_from(KEYS, local=True).fetch(0.0).access_key == "AKID"


def test_fetched_ones_are_fetched_again_a_minute_early() -> None:
    source = FetchedCredentials(lambda: Credentials("AKID", "hush", None, expires_at=1000.0))
    first = source.fetch(0.0)
    assert source.cached(939.0) is first
    assert source.cached(940.0) is None


def test_of_a_profile(aws_files: Path) -> None:
    (aws_files / "credentials").write_text("[other]\naws_access_key_id = PROFILE\naws_secret_access_key = hush\n")
    source = credentials_from({"AWS_PROFILE": "other"})
    fetched = source.fetch(0.0)
    assert fetched.access_key == "PROFILE"
    assert source.cached(59.0) is fetched
    assert source.cached(61.0) is None
    assert source.fetch(61.0) is fetched
    (aws_files / "credentials").write_text("[other]\naws_access_key_id = ROTATED\naws_secret_access_key = hush\n")
    assert source.fetch(62.0, renew=True).access_key == "ROTATED"


def test_a_chain_without_any(aws_files: Path) -> None:
    with pytest.raises(errors.NotConfigured, match="credentials are missing"):
        credentials_from({}).fetch(0.0)


def test_a_profile_that_is_not_there(aws_files: Path) -> None:
    with pytest.raises(errors.NotConfigured, match="nowhere"):
        credentials_from({"AWS_PROFILE": "nowhere"}).fetch(0.0)


def test_without_botocore_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    with pytest.raises(errors.NotConfigured, match=r"AWS_ACCESS_KEY_ID .*singletable\[aws\]"):
        credentials_from({}).fetch(0.0)
