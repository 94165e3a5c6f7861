"""The mails of the application: what they say, and sending one as a task.

Each mail has one task, which commits with the invitation or the message that it belongs to, is tried until it has an
end, and writes what came of it together with its end. A crash anywhere loses none. Where a worker dies after the mail
server took a mail and before that was written down, the mail is sent again with the same Message-ID, by which whoever
receives it knows that it is one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from email.errors import MessageError
from email.headerregistry import Address
from email.message import EmailMessage
from urllib.parse import quote

from examples_shared.errors import Rejected
from examples_shared.mail import new_mail
from organisations.copies import refresh_members
from organisations.model import (
    INVITATION_OPEN,
    Job,
    OrganisationMember,
    UserOrganisation,
    tasks,
)
from singletable import Database, TransactionCancelled, Update, attr


@dataclass(frozen=True)
class Post:
    """How mails leave: `deliver` takes one, or raises Undeliverable, which tries it again later, or Rejected."""

    deliver: Callable[[EmailMessage], object]
    sender: str = "organisations@localhost"
    base_url: str = "http://127.0.0.1:8080"


def send_invitation(
    db: Database, post: Post, now: datetime, organisation_id: str, email: str, invited_at: datetime
) -> None:
    """Tell somebody that they are invited, unless the invitation has ended since. 2 requests: 1 R, 4 W."""
    side = db.get(UserOrganisation.of_user(email, organisation_id).consistent())
    if side is None or side.open_since != invited_at:
        return
    try:
        post.deliver(_mail(post, email, invitation_text(side, post.base_url)))
    except Rejected:
        return  # no later try will do: the invitation stays, and its record says that no mail was sent
    open_still = INVITATION_OPEN & (attr(UserOrganisation.invited_at) == invited_at)
    try:
        with db.transaction() as tx:
            tx.update(
                UserOrganisation.of_user(email, organisation_id),
                attr(UserOrganisation.mailed_at).set(now),
                where=open_still,
            )
            tx.add(tasks.done())
    except TransactionCancelled as cancelled:
        if not _is_about(cancelled, UserOrganisation):
            raise


def send_message(db: Database, post: Post, job: Job, email: str) -> None:
    """A message to one member of its group, at their details of this moment. 4 requests."""
    member = db.get(OrganisationMember.of_organisation(job.organisation_id, email).consistent())
    sent = False
    if member is not None and job.group in member.groups:
        (member,) = refresh_members(db, [member])
        try:
            post.deliver(_mail(post, member.shown_as or member.email, job.text))
            sent = True
        except Rejected:
            sent = False
    counted: Update = attr(Job.done).add(1) if sent else attr(Job.refused).add(1)
    with db.transaction() as tx:
        tx.update(Job.by_id(job.job_id), counted)
        tx.add(tasks.done())


def invitation_text(side: UserOrganisation, base_url: str) -> str:
    by = f" by {side.invited_by}" if side.invited_by else ""
    return (
        f"You are invited to {side.organisation_name}\n\n"
        f"You were invited{by} to join {side.organisation_name}. To accept or decline, sign in as {side.email}:\n"
        f"{base_url}/#{quote(side.organisation_id)}\n"
    )


def _mail(post: Post, to: str, text: str) -> EmailMessage:
    """Its Message-ID is that of the task: the same for every try."""
    try:
        address = Address(addr_spec=to)
    except (ValueError, IndexError, MessageError) as error:
        raise Rejected(f"{to!r} is not a mail address") from error
    if not address.domain:
        raise Rejected(f"{to!r} is not a mail address")
    return new_mail(post.sender, str(address), text, tasks.running().key)


def _is_about(cancelled: TransactionCancelled, kind: type[object]) -> bool:
    return any(failure.key.kinds[0] is kind for failure in cancelled.failures)
