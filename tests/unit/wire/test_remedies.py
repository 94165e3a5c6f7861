"""The remedy for a denied request names what to allow to whom, or where the credentials came from; never a secret."""

from __future__ import annotations

import pytest

from singletable.wire import Credentials, FetchedCredentials, StaticCredentials, credentials_from
from singletable.wire.error_answers import Fault, Verdict
from singletable.wire.remedies import named_credentials, remedy_of, still_expired

KEYS = Credentials("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI", "a-session-token")
GIVEN = StaticCredentials(KEYS)
TABLE = "arn:aws:dynamodb:eu-central-1:123456789012:table/shop"
ROLE = "arn:aws:sts::123456789012:assumed-role/web/session-1"


@pytest.mark.parametrize(
    ("who", "why", "hint"),
    [
        (
            ROLE,
            " because no identity-based policy allows the x action",
            f"Allow dynamodb:Query on {TABLE} to the role web",
        ),
        (ROLE, "", f"Allow dynamodb:Query on {TABLE} to the role web"),
        (
            "arn:aws-cn:iam::1:user/staff/ada",
            " because no permissions boundary allows the x action",
            f"Allow dynamodb:Query on {TABLE} to the user staff/ada in the permissions boundary, too",
        ),
        (
            ROLE,
            " with an explicit deny in a service control policy: arn:aws:x",
            f"Take dynamodb:Query on {TABLE} of the role web out of the service control policy that denies it",
        ),
        ("arn:aws:iam::1:root", "", f"Allow dynamodb:Query on {TABLE} to arn:aws:iam::1:root"),
    ],
)
def test_what_to_allow(who: str, why: str, hint: str) -> None:
    message = f"User: {who} is not authorized to perform: dynamodb:Query on resource: {TABLE}{why}"
    assert remedy_of(Fault("AccessDeniedException", message), Verdict.DENIED, GIVEN, KEYS).startswith(hint)


@pytest.mark.parametrize(
    ("code", "hint"),
    [
        ("UnrecognizedClientException", "Replace the credentials from `credentials=`"),
        ("InvalidClientTokenId", "Replace the"),
        ("SignatureDoesNotMatch", "Compare the secret key of the credentials"),
        ("AccessDeniedException", "Check the permissions of the credentials"),
        ("OptInRequired", "Check the permissions"),
    ],
)
def test_where_the_credentials_came_from(code: str, hint: str) -> None:
    text = remedy_of(Fault(code, "of other words"), Verdict.DENIED, GIVEN, KEYS)
    assert text.startswith(hint)
    assert "`credentials=` of this program (access key AKIA...MPLE)" in text
    assert KEYS.access_key not in text


def test_nothing_of_a_secret_or_of_a_short_key_is_said() -> None:
    for keys in (KEYS, Credentials("local", "wJalrXUtnFEMI", "a-session-token")):
        for text in (
            named_credentials(FetchedCredentials(lambda: KEYS), keys),
            remedy_of(None, Verdict.REFRESH, GIVEN, keys),
            still_expired(GIVEN, keys),
        ):
            assert not any(part in text for part in (keys.access_key, keys.secret_key, "a-session-token"))


def test_a_source_says_its_origin() -> None:
    environ = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "x"}
    said = named_credentials(credentials_from(environ), KEYS)
    assert said == "credentials from the environment, AWS_ACCESS_KEY_ID (access key AKIA...MPLE)"
    assert "a function of this program" in named_credentials(FetchedCredentials(lambda: KEYS), KEYS)

    class Own:
        def cached(self, now: float) -> Credentials:
            return KEYS

        def fetch(self, now: float, *, renew: bool = False) -> Credentials:
            return KEYS

    assert named_credentials(Own(), KEYS).startswith("credentials from the source that this program gave (")
