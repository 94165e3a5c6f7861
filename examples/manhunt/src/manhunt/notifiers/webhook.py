"""A webhook: the message as JSON, signed where there is a secret."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass

from manhunt.notifiers.message import Message
from manhunt.notifiers.posting import post

SIGNATURE = "X-Manhunt-Signature"


@dataclass(frozen=True)
class WebhookNotifier:
    """POST of `{"search", "step", "contact", "text", "answer_url"}` with `Idempotency-Key`.

    With a secret, `X-Manhunt-Signature: sha256=<hex>` is the body's HMAC.
    """

    secret: str = ""
    timeout_seconds: float = 10.0
    private: bool = False
    """Addresses that are not on the open internet are allowed too: for a receiver on this machine or network."""

    def __call__(self, message: Message) -> str:
        body = json.dumps(
            {
                "search": message.search_id,
                "step": message.step,
                "contact": message.name,
                "text": message.text,
                "answer_url": message.answer_api_url,
            }
        ).encode()
        headers = {"Content-Type": "application/json", "Idempotency-Key": message.idempotency_key}
        if self.secret:
            headers[SIGNATURE] = f"sha256={hmac.new(self.secret.encode(), body, hashlib.sha256).hexdigest()}"
        return post(message.destination, body, headers, self.timeout_seconds, private=self.private).request_id
