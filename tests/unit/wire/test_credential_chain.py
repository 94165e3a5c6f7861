"""Who signs: botocore's order of places, fetched once for all who wait, kept while it works."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event  # noqa: TID251
from typing import Any

import botocore.session
import pytest

from singletable import errors
from singletable.wire import Credentials, CredentialSource, FetchedCredentials, credentials_from
from tests.fakes.identity_server import IdentityServer
from tests.fakes.scripted_server import ScriptedServer
from tests.unit.wire.conftest import Ask, Client

AT_ONCE = 32


@pytest.fixture
def places() -> Iterator[IdentityServer]:
    with IdentityServer() as running:
        yield running


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets the process's AWS environment, which botocore reads, to these variables and no others."""
    (tmp_path / "config").write_text("[default]\nregion=eu-west-1\n[profile other]\nregion=eu-north-1\n")
    (tmp_path / "credentials").write_text(
        "[default]\naws_access_key_id=DEFAULT\naws_secret_access_key=s\n"
        "[other]\naws_access_key_id=OTHER\naws_secret_access_key=s\n"
    )
    (tmp_path / "token").write_text("a-web-identity-token")

    def put(**variables: str) -> None:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        files = {"AWS_CONFIG_FILE": "config", "AWS_SHARED_CREDENTIALS_FILE": "credentials"}
        for name, value in {"AWS_EC2_METADATA_DISABLED": "true", **files, **variables}.items():
            at_place = name.endswith("_FILE") and "/" not in value
            monkeypatch.setenv(name, str(tmp_path / value) if at_place else value)

    return put


PROFILES: list[dict[str, str]] = [
    {},
    {"AWS_PROFILE": "default"},
    {"AWS_PROFILE": "other"},
    {"AWS_DEFAULT_PROFILE": "other"},
    {"AWS_DEFAULT_PROFILE": "other", "AWS_PROFILE": "default"},
]
KEYS = {"AWS_ACCESS_KEY_ID": "ENV", "AWS_SECRET_ACCESS_KEY": "s"}
WEB = {"AWS_WEB_IDENTITY_TOKEN_FILE": "token", "AWS_ROLE_ARN": "arn:aws:iam::1:role/r", "AWS_REGION": "us-east-1"}
NO_FILES = {"AWS_CONFIG_FILE": "none", "AWS_SHARED_CREDENTIALS_FILE": "none"}


@pytest.mark.parametrize("profile", PROFILES, ids=str)
@pytest.mark.parametrize(
    "kind", ["keys", "web", "container", "instance", "files", "web-no-files", "container-no-files"]
)
def test_the_order_is_botocore_s(
    places: IdentityServer, environ: Callable[..., None], kind: str, profile: dict[str, str]
) -> None:
    more = {
        "keys": KEYS | WEB | {"AWS_ENDPOINT_URL_STS": places.url},
        "web": WEB | {"AWS_ENDPOINT_URL_STS": places.url},
        "container": {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{places.url}/container"},
        "instance": {"AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": places.url},
        "files": {},
    }
    no_files = kind.endswith("-no-files")
    environ(**more[kind.removesuffix("-no-files")], **profile, **(NO_FILES if no_files else {}))
    try:
        found: Any = botocore.session.Session().get_credentials()
        expected = found.access_key
    except Exception:
        expected = None  # a profile that no file has
    if expected is None:
        with pytest.raises(errors.NotConfigured):
            credentials_from(os.environ).fetch(time.time())
    else:
        assert credentials_from(os.environ).fetch(time.time()).access_key == expected


def test_the_identity_of_a_pod_goes_before_the_profile_that_its_environment_names(
    places: IdentityServer, environ: Callable[..., None]
) -> None:
    environ(**WEB, AWS_ENDPOINT_URL_STS=places.url, AWS_PROFILE="default")
    assert credentials_from(os.environ).fetch(time.time()).access_key == "WEB"


@pytest.mark.parametrize(
    ("variables", "origin"),
    [
        (KEYS, "the environment, AWS_ACCESS_KEY_ID"),
        ({}, "the credentials file, the profile default"),
        ({"AWS_PROFILE": "other"}, "the credentials file, the profile other"),
        (WEB, "a role by a web identity, AWS_ROLE_ARN or the profile default"),
        ({"AWS_CONTAINER_CREDENTIALS_FULL_URI": "{url}/container"} | NO_FILES, "the container's role"),
        (
            {"AWS_EC2_METADATA_DISABLED": "false", "AWS_EC2_METADATA_SERVICE_ENDPOINT": "{url}"} | NO_FILES,
            "the instance's role",
        ),
    ],
    ids=str,
)
def test_the_place_is_named(
    places: IdentityServer, environ: Callable[..., None], variables: dict[str, str], origin: str
) -> None:
    environ(AWS_ENDPOINT_URL_STS=places.url, **{name: text.format(url=places.url) for name, text in variables.items()})
    source: Any = credentials_from(os.environ)
    source.fetch(time.time())
    assert source.origin == origin


def fetched_at_once(source: CredentialSource, now: float) -> list[Credentials]:
    together = Barrier(AT_ONCE)

    def fetch(_: int) -> Credentials:
        together.wait(30)
        return source.cached(now) or source.fetch(now)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(fetch, range(AT_ONCE)))


def test_threads_at_the_first_request_fetch_once(places: IdentityServer, environ: Callable[..., None]) -> None:
    environ(**NO_FILES, AWS_CONTAINER_CREDENTIALS_FULL_URI=f"{places.url}/container")
    places.seconds = 300  # botocore refreshes what lasts less than ten minutes each time that it is asked
    found = fetched_at_once(credentials_from(os.environ), time.time())
    assert len({id(each) for each in found}) == 1
    assert places.asked["CONTAINER"] <= 2  # botocore itself: once to find the place, once as it is near its end


def test_a_function_is_called_once_for_all_who_wait() -> None:
    """It does not return before a second call had its chance to come."""
    calls: list[Credentials] = []
    another = Event()

    def get() -> Credentials:
        calls.append(Credentials(f"KEY{len(calls)}", "secret"))
        if len(calls) > 1:
            another.set()
        another.wait(0.2)
        return calls[0]

    found = fetched_at_once(FetchedCredentials(get), 1000.0)
    assert (len(calls), {id(each) for each in found}) == (1, {id(calls[0])})


async def test_requests_at_once_fetch_once(client: Client, server: ScriptedServer) -> None:
    calls: list[None] = []
    another = Event()

    def get() -> Credentials:
        calls.append(None)
        another.wait(0.2)
        return Credentials("KEY", "secret")

    port = client.port(credentials=FetchedCredentials(get))
    await client.run(port.send_all([Ask()] * AT_ONCE))
    assert len(calls) == 1


def test_no_request_waits_for_a_renewal_while_the_last_keys_work() -> None:
    renewing, go_on = Event(), Event()
    keys = iter([Credentials("A", "s", None, 1000.0), Credentials("B", "s", None, 5000.0)])

    def get() -> Credentials:
        fetched = next(keys)
        if fetched.access_key == "B":
            renewing.set()
            assert go_on.wait(30)
        return fetched

    source = FetchedCredentials(get)
    first = source.fetch(0.0)
    with ThreadPoolExecutor(1) as pool:
        renewal = pool.submit(source.fetch, 950.0)
        assert renewing.wait(30)
        assert source.fetch(950.0) is first
        go_on.set()
        assert renewal.result(30).access_key == "B"


def test_what_still_works_is_kept_when_its_place_does_not_answer() -> None:
    asked: list[float] = []

    def get() -> Credentials:
        asked.append(now)
        if len(asked) > 1:
            raise OSError("secret-in-an-error is down")
        return Credentials("AKID", "hush", None, 1000.0)

    source, now = FetchedCredentials(get), 0.0
    first = source.fetch(now)
    now = 950.0
    assert source.cached(now) is None
    assert source.fetch(now) is first
    assert source.cached(954.0) is first  # it is not asked again by each request
    now = 956.0
    assert source.cached(now) is None
    assert source.fetch(now) is first
    assert asked == [0.0, 950.0, 956.0]
    assert isinstance(source.take_failure(), OSError)
    assert source.take_failure() is None, "it is told once"
    now = 1000.0
    assert source.cached(now) is None
    with pytest.raises(OSError, match="down"):
        source.fetch(now)


def test_expired_by_the_service_s_word_they_are_not_kept() -> None:
    keys = iter([Credentials("A", "s", None, 5000.0)])
    source = FetchedCredentials(lambda: next(keys))
    source.fetch(0.0)
    with pytest.raises(StopIteration):
        source.fetch(1.0, renew=True)


def test_the_chain_keeps_what_still_works(places: IdentityServer, environ: Callable[..., None]) -> None:
    environ(**NO_FILES, AWS_CONTAINER_CREDENTIALS_FULL_URI=f"{places.url}/container", AWS_MAX_ATTEMPTS="1")
    places.seconds = 300  # in the time in which botocore insists on fresh ones
    source, now = credentials_from(os.environ), time.time()
    first = source.fetch(now)
    places.down = True
    assert source.cached(now + 61) is None
    assert source.fetch(now + 61) is first


def test_what_lasts_for_less_than_a_minute_is_not_fetched_by_every_request() -> None:
    source = FetchedCredentials(lambda: Credentials("AKID", "hush", None, expires_at=50.0))
    first = source.fetch(0.0)
    assert source.cached(24.0) is first
    assert source.cached(26.0) is None


def test_a_clock_that_is_set_back_has_them_fetched_again() -> None:
    source = FetchedCredentials(lambda: Credentials("AKID", "hush", None, expires_at=10_000.0))
    source.fetch(5000.0)
    assert source.cached(5001.0) is not None
    assert source.cached(1000.0) is None


_FORKED = """
import os, threading
from singletable.wire import Credentials, FetchedCredentials
begun, go_on = threading.Event(), threading.Event()
def get():
    if os.getpid() == parent:
        begun.set(); go_on.wait(30)
    return Credentials("AKID", "hush")
parent, source = os.getpid(), FetchedCredentials(get)
thread = threading.Thread(target=source.fetch, args=(0.0,)); thread.start(); begun.wait(30)
child = os.fork()
if child == 0:
    source.fetch(0.0)
    os._exit(7)
status = os.waitpid(child, 0)[1]
go_on.set(); thread.join()
print(os.waitstatus_to_exitcode(status))
"""


def test_a_child_that_is_forked_during_a_fetch_fetches_its_own() -> None:
    path = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _FORKED], env=path, capture_output=True, text=True, timeout=60
    )
    assert run.stdout == "7\n", run.stderr
