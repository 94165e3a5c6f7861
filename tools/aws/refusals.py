"""What a service refuses for good: keys that it does not know, expired credentials, missing permissions.

A retry changes none of it: a run stops at the first one, and says what to do.
"""

from __future__ import annotations

import re

NOT_SIGNED = "NotSigned"
"""The code of a request that could not be signed, as the credentials' source gives none any more."""
_EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", NOT_SIGNED})
_UNKNOWN = frozenset(
    {
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidToken",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "UnrecognizedClientException",
    }
)
_UNSIGNED = frozenset(
    {
        "IncompleteSignature",
        "IncompleteSignatureException",
        "InvalidSignatureException",
        "RequestExpired",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
    }
)
_FORBIDDEN = frozenset(
    {"AccessDenied", "AccessDeniedException", "AuthorizationError", "OptInRequired", "NotAuthorized"}
)
_ADVICE = (
    (_EXPIRED, "The credentials have expired: get new ones, as `aws sso login` or a new session token does."),
    (
        _UNKNOWN,
        (
            "AWS does not know the access key: correct AWS_ACCESS_KEY_ID and AWS_SESSION_TOKEN, or AWS_PROFILE. "
            "A region that the account has not enabled answers the same."
        ),
    ),
    (
        _UNSIGNED,
        "The signature is not accepted: correct AWS_SECRET_ACCESS_KEY, or this machine's clock if it is wrong.",
    ),
    (
        _FORBIDDEN,
        (
            "Permission is missing: allow this action in the policies of these credentials and of their organization. "
            'CONTRIBUTING.md says under "On AWS" which actions a run needs.'
        ),
    ),
)
_CODE = re.compile(rb'"__type": *"(?:[^"#]*#)?([^"]+)"|<Code>([^<]+)</Code>')
_MESSAGE = re.compile(rb'"[mM]essage": *"((?:[^"\\]|\\.)*)"|<Message>([^<]*)</Message>')


def advice(code: str) -> str:
    """What to do about a refusal for good; empty for an error of any other kind."""
    return next((said for codes, said in _ADVICE if code in codes), "")


def code_of(body: bytes) -> str:
    """The error's code in an answer of any service; empty where it has none."""
    return _first(_CODE, body)


def message_of(body: bytes) -> str:
    """What the service says of the error."""
    return _first(_MESSAGE, body)


def refused_for_good(operation: str, status: int, body: bytes) -> str:
    """What happened and what to do, where an answer is a refusal for good; empty for any other answer."""
    if status not in (400, 401, 403):
        return ""
    code = code_of(body)
    return f"{described(operation, status, body)} {advice(code)}" if advice(code) else ""


def described(operation: str, status: int, body: bytes) -> str:
    """An error as one sentence."""
    code, message = code_of(body), message_of(body)
    said = f": {message.rstrip('.')}" if message else ""
    return f"{operation} was refused with {code or f'status {status}'}{said}."


def _first(pattern: re.Pattern[bytes], body: bytes) -> str:
    found = pattern.search(body)
    return (found[1] or found[2] or b"").decode("utf-8", "replace") if found else ""
