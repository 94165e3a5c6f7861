"""The options of the commands that send mail."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from email.message import EmailMessage
from functools import partial
from typing import Any

import click

from examples_shared.mail import send, server_of
from examples_shared.terminal import clean
from organisations.mail import Post

Function = Callable[..., Any]


def mail_options(function: Function) -> Function:
    """--smtp and what belongs to it; without it mails are shown on the terminal."""
    for option in reversed(
        (
            click.option("--smtp", metavar="HOST[:PORT]", envvar="ORGANISATIONS_SMTP", help="The mail server."),
            click.option("--sender", default="organisations@localhost", show_default=True, help="Of mails."),
            click.option("--starttls", is_flag=True, help="Encrypt the way to the mail server."),
            click.option("--smtp-user", default="", envvar="ORGANISATIONS_SMTP_USER"),
            click.option("--smtp-password", default="", envvar="ORGANISATIONS_SMTP_PASSWORD"),
            click.option("--base-url", envvar="ORGANISATIONS_BASE_URL", help="Where people reach `serve`."),
        )
    ):
        function = option(function)
    return function


def post_of(given: Mapping[str, Any]) -> Post:
    """How mails leave, as the options say."""
    base_url = given["base_url"] or "http://127.0.0.1:8080"
    if not given["smtp"]:
        return Post(_show, given["sender"], base_url)
    server = server_of(given["smtp"], given["smtp_user"], given["smtp_password"], starttls=given["starttls"])
    return Post(partial(send, server), given["sender"], base_url)


def _show(mail: EmailMessage) -> None:
    """In place of a mail server: for trying things out."""
    text = "\n".join(f"  {clean(line)}" for line in mail.get_content().splitlines())
    click.echo(f"mail to {clean(str(mail['To']))}:\n{text}", err=True)
