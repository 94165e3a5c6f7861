"""Texts and calls through any provider whose HTTP interface has Twilio's shape."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from manhunt.notifiers.message import Message
from manhunt.notifiers.posting import post

MAX_TEXT = 1500


@dataclass(frozen=True)
class Telephone:
    """An account with a provider."""

    account: str
    token: str = field(repr=False)
    """Signs in, and checks the signature of what the provider sends."""
    number: str
    """What messages come from."""
    url: str = "https://api.twilio.com"
    timeout_seconds: float = 10.0
    private: bool = False
    """The provider may be on this machine or network."""

    def send(self, resource: str, form: Mapping[str, str], idempotency_key: str) -> str:
        """POST a form to one of the account's resources; gives the provider's name for what it made."""
        url = f"{self.url}/2010-04-01/Accounts/{quote(self.account, safe='')}/{resource}.json"
        headers = {
            "Authorization": f"Basic {b64encode(f'{self.account}:{self.token}'.encode()).decode()}",
            "Content-Type": "application/x-www-form-urlencoded",
            "Idempotency-Key": idempotency_key,
        }
        body = urlencode({"From": self.number, **form}).encode()
        return _sid(post(url, body, headers, self.timeout_seconds, private=self.private).body)


@dataclass(frozen=True)
class TextNotifier:
    """A text message; any reply answers the search."""

    telephone: Telephone

    def __call__(self, message: Message) -> str:
        body = f"{message.text[:MAX_TEXT]}\nReply to this message to answer."
        return self.telephone.send("Messages", {"To": message.destination, "Body": body}, message.idempotency_key)


@dataclass(frozen=True)
class CallNotifier:
    """A call. What it says the provider fetches from us when somebody picks up; a key answers the search."""

    telephone: Telephone

    def __call__(self, message: Message) -> str:
        form = {"To": message.destination, "Url": message.call_url, "Method": "POST"}
        return self.telephone.send("Calls", form, message.idempotency_key)


def _sid(body: bytes) -> str:
    """The message was taken: an answer that can't be read makes it no less so."""
    try:
        said: object = json.loads(body)
    except ValueError:
        return ""
    match said:
        case {"sid": str(sid)}:
            return sid
        case _:
            return ""
