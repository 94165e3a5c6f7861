"""Finding what `connect` names: the local engine, an address, or AWS."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct
from msgspec.structs import replace

from singletable.errors import InvalidRequest, NotConfigured, SingletableError, Unavailable
from singletable.flow import CAPABILITIES, HeldMarks, TableNames, Traits
from singletable.target import Options, Target, seal_of
from singletable.wire import (
    RetryPolicy,
    credentials_from,
    endpoint_for,
    is_aws_host,
    locator,
    retry_policy_for,
)

if TYPE_CHECKING:
    from pathlib import Path

_LOCAL = "local"
_NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE)
_UNKNOWN_ENGINE = Traits(segments_shift=True, unknown=frozenset(CAPABILITIES) - {"whole indexes"})
"""The traits of an endpoint that is not Amazon's. They assume nothing whose failure would go unnoticed."""


class LocalEngine(Protocol):
    """The functions of `singletable_local.targets` that the library calls."""

    def embedded(self, target: str, options: Options, environ: Mapping[str, str]) -> Target: ...

    def unix_endpoint(self, target: str, options: Options, environ: Mapping[str, str]) -> Target: ...

    def copy_data(self, data: Path, to: Path, progress: Callable[[int, int], object] | None = None) -> int: ...


def find_target(target: str, options: Options, environ: Mapping[str, str]) -> Target:
    """`local`, `local:<file>`, `aws`, or an address: `http://127.0.0.1:8000`, the `unix://` of an embedded engine.

    Raises Unavailable if this process has no file descriptor left: even an import needs one.
    """
    _check_text(target)
    try:
        return _named(_find(target, options, environ), options.names)
    except OSError as error:
        if error.errno not in _NO_DESCRIPTOR:
            raise
        raise Unavailable(
            f"no connection could be prepared: {error.strerror}",
            operation="connect",
            hint="Close files or sockets, or allow this process more of them: `ulimit -n`.",
        ) from error


def _check_text(target: object) -> None:
    if not isinstance(target, str):
        kind = "None" if target is None else f"a {type(target).__name__}"
        raise InvalidRequest(f"a target is a text, not {kind}", operation="connect", hint='As in connect("local").')


def _find(target: str, options: Options, environ: Mapping[str, str]) -> Target:
    if options.traits is not None and "://" not in target:
        raise InvalidRequest(f"traits= with the target {target!r}, whose traits are known", hint="Leave it out.")
    if target == _LOCAL or target.startswith(f"{_LOCAL}:"):
        for name in options.names.arns:
            raise InvalidRequest(
                f"table {name!r} has an ARN, and a local engine has no accounts",
                operation="connect",
                hint='Give it a name: tables={"orders": "orders-2"}.',
            )
        return local_engine().embedded(target, options, environ)
    if target != "aws" and "://" not in target:
        raise InvalidRequest(
            "the target is none that is known", hint='Use "local", "local:<file>", "aws" or "http://<host>:<port>".'
        )
    if target.startswith("unix://"):
        return local_engine().unix_endpoint(target, options, environ)
    has_account = options.credentials is None and "AWS_ACCESS_KEY_ID" in environ and not options.names.arns
    account = environ.get("AWS_ACCOUNT_ID") if has_account else None
    try:
        endpoint = endpoint_for(target, environ=environ, region=options.region, account=account)
    except ValueError as error:
        if isinstance(error, SingletableError):
            raise
        raise InvalidRequest("the target is not an address", hint='As in "http://127.0.0.1:8000".') from error
    credentials = options.credentials or credentials_from(environ, local=endpoint.is_local)
    locate = locator(target, environ=environ, region=options.region)
    seal = seal_of(options, environ)
    retry = options.retry or (RetryPolicy() if endpoint.is_local else retry_policy_for(environ))
    traits = options.traits or (Traits() if is_aws_host(endpoint.host) else _UNKNOWN_ENGINE)
    return Target(endpoint, credentials, traits, seal, locate, retry=retry)


def _named(target: Target, names: TableNames) -> Target:
    """The target with the names of its tables. InvalidRequest for a table that is not to be had there."""
    if not names.text:
        return target
    for name, region in names.arns.items():
        if region != target.endpoint.region:
            raise InvalidRequest(
                f"table {name!r} is in {region}, and this database in {target.endpoint.region}: a connection has one "
                "region, which its signatures name",
                operation="connect",
                hint=f'Connect a second time for it: connect("aws", region="{region}", tables=...).',
            )
    marks = target.traits.held_copy
    traits = replace(target.traits, held_copy=None if marks is None else _NamedMarks(marks, names))
    return replace(target, names=names, traits=traits, seal=target.seal.with_names(names))


class _NamedMarks(Struct, frozen=True):
    """The marks of a data file, by the declared names of its tables."""

    marks: HeldMarks
    names: TableNames

    def why(self, table: str) -> str | None:
        return self.marks.why(self.names[table])

    def settle(self, table: str) -> None:
        self.marks.settle(self.names[table])


def local_engine() -> LocalEngine:
    """The distribution `singletable-local`. NotConfigured if it is not installed."""
    try:
        from singletable_local import targets  # noqa: PLC0415 a program on AWS never needs it
    except ModuleNotFoundError as error:
        if error.name != "singletable_local":
            raise
        raise NotConfigured(
            "the local engine is not installed: the package singletable-local is missing",
            hint='Run: pip install "singletable[local]"',
        ) from None
    return targets
