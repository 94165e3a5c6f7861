"""The options of the commands that send messages or take answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

import click

from examples_shared.mail import server_of
from manhunt.notifiers import Telephone
from manhunt.providers import Providers

SECRETS = "MANHUNT_SECRETS"
DEFAULT_SENDER = "manhunt@localhost"
TELEPHONE = ("account", "token", "number", "url")
Function = Callable[..., Any]


def secret_option(function: Function) -> Function:
    shown = f"Signs links and tokens; at least 32 characters. The last of several signs. {SECRETS} too."
    return click.option("--secret", "secrets", multiple=True, envvar=SECRETS, callback=_check_secrets, help=shown)(
        function
    )


def _check_secrets(context: click.Context, parameter: click.Parameter, secrets: tuple[str, ...]) -> tuple[str, ...]:
    if not secrets:
        raise click.MissingParameter(f"Say --secret, or set {SECRETS}.", context, parameter)
    return secrets


def base_url_option(function: Function) -> Function:
    shown = "Where people and providers reach `serve`."
    default = "http://127.0.0.1:8080"
    return click.option(
        "--base-url",
        default=default,
        show_default=True,
        envvar="MANHUNT_BASE_URL",
        callback=_check_address,
        metavar="URL",
        help=shown,
    )(function)


def _check_address(context: click.Context, parameter: click.Parameter, url: str) -> str:
    try:
        parts = urlsplit(url)
        leads = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        is_address = leads and not parts.query and not parts.fragment
    except ValueError:
        is_address = False
    if not is_address:
        raise click.BadParameter("say http:// or https:// and a host, as in https://manhunt.example.com")
    return url


def telephone_options(function: Function) -> Function:
    for name, shown in (
        ("number", "What texts and calls come from."),
        ("token", "The account's token; also checks what the provider sends. Better in the environment."),
        ("account", "With a telephone provider whose interface has Twilio's shape."),
        ("url", "The provider's address, where it is not Twilio's own."),
    ):
        option = click.option(f"--telephone-{name}", envvar=f"MANHUNT_TELEPHONE_{name.upper()}", help=shown)
        function = option(function)
    return function


def provider_options(function: Function) -> Function:
    """Everything that a worker sends by."""
    function = click.option("--private-webhooks", is_flag=True, help="Webhooks may lead to this machine or network.")(
        function
    )
    function = click.option("--webhook-secret", default="", envvar="MANHUNT_WEBHOOK_SECRET", help="Signs webhooks.")(
        function
    )
    function = click.option("--smtp-password", default="", envvar="MANHUNT_SMTP_PASSWORD")(function)
    function = click.option("--smtp-user", default="", envvar="MANHUNT_SMTP_USER")(function)
    function = click.option("--starttls", is_flag=True, help="Encrypt the way to the mail server.")(function)
    function = click.option("--sender", default=DEFAULT_SENDER, show_default=True, help="Of mails.")(function)
    function = click.option("--smtp", metavar="HOST[:PORT]", envvar="MANHUNT_SMTP", help="The mail server.")(function)
    return telephone_options(function)


def telephone_of(given: dict[str, Any]) -> Telephone | None:
    """The account, where one is named."""
    account, token, number = (given.get(f"telephone_{name}") for name in ("account", "token", "number"))
    if not account:
        return None
    if not token or not number:
        raise click.UsageError("--telephone-account needs --telephone-token and --telephone-number")
    url = given.get("telephone_url")
    return (
        Telephone(account, token, number, url.rstrip("/"), private=True) if url else Telephone(account, token, number)
    )


def providers_of(given: dict[str, Any]) -> Providers:
    place, user, password = given["smtp"], given["smtp_user"], given["smtp_password"]
    mail = server_of(place, user, password, starttls=given["starttls"]) if place else None
    return Providers(mail, given["sender"], telephone_of(given), given["webhook_secret"], given["private_webhooks"])


def providers_from(environ: Mapping[str, str]) -> Providers:
    """The same settings from environment variables alone: `--smtp` is MANHUNT_SMTP. A switch is on where it is set."""
    texts = ("smtp", "smtp_user", "smtp_password", "webhook_secret", *(f"telephone_{name}" for name in TELEPHONE))
    given: dict[str, Any] = {name: environ.get(f"MANHUNT_{name.upper()}", "") for name in texts}
    given |= {name: bool(environ.get(f"MANHUNT_{name.upper()}")) for name in ("starttls", "private_webhooks")}
    return providers_of({**given, "sender": environ.get("MANHUNT_SENDER", DEFAULT_SENDER)})
