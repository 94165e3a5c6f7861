"""How a message leaves: one notifier for each kind of contact method.

`Notifier` is the port; `smtp`, `webhook` and `telephone` are the real ones. Each sends the message's idempotency key
along, the same for every try, so that a provider that knows it sends once.
"""

from manhunt.notifiers.message import Message, Notifier, Notifiers
from manhunt.notifiers.smtp import MailServer, SmtpNotifier
from manhunt.notifiers.telephone import CallNotifier, Telephone, TextNotifier
from manhunt.notifiers.webhook import WebhookNotifier

__all__ = [
    "CallNotifier",
    "MailServer",
    "Message",
    "Notifier",
    "Notifiers",
    "SmtpNotifier",
    "Telephone",
    "TextNotifier",
    "WebhookNotifier",
]
