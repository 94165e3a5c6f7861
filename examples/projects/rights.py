"""Who may change a board: the people of its organisation, each in their own name, and the operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from examples.projects.errors import Refused
from singletable.documents import Mutation, Submission


def organisation_of(user: str) -> str:
    """The organisation of a user's name: of all people of a domain, or of one person whose name has none.

    `example.com` for `ada@example.com`, `demo` for `demo`. No name without a domain gives what one with a domain gives:
    a domain without a dot has an `@` before it, a name alone that has a dot one behind it.

        ada@example.com -> example.com        ada         -> ada
        ada@localhost   -> @localhost         example.com -> example.com@
    """
    _, at, domain = user.rpartition("@")
    if at:
        return domain if "." in domain or not domain else f"@{domain}"
    return f"{user}@" if "." in user else user


def check_may_change(submission: Submission, draft: Any) -> None:
    """Asked before each mutation is applied, by whichever call applies it. Refused, which is then its outcome.

    What comes in over HTTP has a principal, always. The operator's own mutations have none.
    """
    user = submission.principal
    if user is None:
        return
    if organisation_of(user) != draft.parent:
        raise Refused("this board is another organisation's")
    if not is_signed_by(user, submission.mutation):
        raise Refused("a comment is signed with its author's own name")


def is_signed_by(user: str, mutation: Mutation) -> bool:
    """Whether each comment that a mutation puts says that it is the user's, or nobody's."""
    arguments = msgspec.json.decode(mutation.arguments)
    comments: list[Any] = [_member(arguments, "comment")] if mutation.name == "put_comment" else []
    if mutation.name == "revise":
        said = _member(arguments, "edits")
        edits = cast("Sequence[Any]", said) if isinstance(said, list) else ()
        for edit in edits:
            is_comment = str(_member(edit, "key")).startswith("comments/")
            comments += [_member(edit, "to")] if is_comment else []
    return all(_member(comment, "author") in (None, user) for comment in comments)


def _member(value: Any, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
