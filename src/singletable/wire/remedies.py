"""The remedy for a denied request: what to allow to whom, or where its credentials came from. Never a secret."""

from __future__ import annotations

import re
from typing import Final

from singletable.wire.credentials import Credentials, CredentialSource
from singletable.wire.error_answers import Fault, Verdict

_FORBIDDEN = re.compile(r"User: (\S+) is not authorized to perform: ([\w:*-]+)(?: on resource: (\S+))?")
_PRINCIPAL = re.compile(r"arn:[\w-]+:(?:sts|iam)::\d*:(assumed-role|role|user)/(\S+)")
_DENIES = re.compile(r"with an explicit deny in an? ([\w -]+)")
_LACKS = re.compile(r"because no ([\w -]+?) allows")
_PLAIN_POLICIES = ("identity-based policy", "resource-based policy")
"""Policies of which one that allows is enough; each of the other kinds has to allow an action, too."""
_UNKNOWN: Final = frozenset({"UnrecognizedClientException", "InvalidClientTokenId", "InvalidSecurity"})
"""Codes for an access key, or a session token, that the service does not know."""
_UNSIGNED: Final = frozenset({"InvalidSignatureException", "SignatureDoesNotMatch", "AuthFailure"})
_LEAST_SHORTENED = 16


def remedy_of(fault: Fault | None, verdict: Verdict, source: CredentialSource, signed_by: Credentials) -> str:
    """The hint for a request that was denied, or whose credentials have expired."""
    named = named_credentials(source, signed_by)
    if verdict is Verdict.REFRESH:
        return f"Renew the {named}: they have expired"
    if fault is None or verdict is not Verdict.DENIED:
        return ""
    if (forbidden := _FORBIDDEN.search(fault.message)) is not None:
        return _allowance(forbidden, fault.message)
    if fault.code in _UNKNOWN:
        return (
            f"Replace the {named}: the service does not know this access key or its session token, which may be "
            "deleted, mistyped, or of another partition of AWS"
        )
    if fault.code in _UNSIGNED:
        return (
            f"Compare the secret key of the {named}: another key signs differently; so does a proxy that changes "
            "requests, and this machine's clock if it is wrong"
        )
    return f"Check the permissions of the {named}, and this machine's clock"


def still_expired(source: CredentialSource, signed_by: Credentials) -> str:
    """The hint where the credentials have expired, and their source has no others."""
    return f"Renew the {named_credentials(source, signed_by)}: they have expired, and were the same when fetched again"


def named_credentials(source: CredentialSource, credentials: Credentials) -> str:
    """Credentials by their origin and their access key, which is shortened."""
    key = credentials.access_key
    shown = f" (access key {key[:4]}...{key[-4:]})" if len(key) >= _LEAST_SHORTENED else ""
    return f"credentials from {getattr(source, 'origin', 'the source that this program gave')}{shown}"


def _allowance(forbidden: re.Match[str], message: str) -> str:
    who, action, resource = forbidden.groups()
    principal = _PRINCIPAL.fullmatch(who)
    what = f"{action} on {resource}" if resource else action
    whom = who if principal is None else _name_of(principal)
    if (denies := _DENIES.search(message)) is not None:
        return f"Take {what} of {whom} out of the {denies[1]} that denies it: no policy that allows it helps"
    lacks = _LACKS.search(message)
    if lacks is None or lacks[1] in _PLAIN_POLICIES:
        return f"Allow {what} to {whom}"
    return f"Allow {what} to {whom} in the {lacks[1]}, too"


def _name_of(principal: re.Match[str]) -> str:
    kind, path = principal.groups()
    return f"the role {path.partition('/')[0]}" if kind == "assumed-role" else f"the {kind} {path}"
