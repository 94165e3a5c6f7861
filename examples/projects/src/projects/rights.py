"""Who may change a board, and who sees what of it.

The people of its organisation change it, each in their own name, and the operator. A shape or a comment that says
`only: USER` is seen and changed by that user alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from projects.errors import Refused
from projects.model import Project
from singletable.documents import Mutation, Submission
from singletable.sync import Shown, View, restrict_draft


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
        raise Refused("a comment is signed with its author's own name, and what is private with its owner's")
    restrict_draft(draft, view_of(user))


def view_of(user: str) -> View:
    """What a user sees of a board: all but what is another's alone."""

    def is_seen(item: Any) -> bool:
        return is_seen_by(user, item)

    return View(f"of {user}", [Shown(Project.shapes, is_seen), Shown(Project.comments, is_seen)])


def is_seen_by(user: str, item: Any) -> bool:
    """Whether a shape or a comment is everybody's, or the user's own."""
    return _member(item, "only") in (None, user)


def is_signed_by(user: str, mutation: Mutation) -> bool:
    """Whether what a mutation puts is the user's or nobody's: each comment's author, and whose alone an item is."""
    arguments = msgspec.json.decode(mutation.arguments)
    items: list[tuple[bool, Any]] = []
    if mutation.name in ("put_shape", "put_comment"):
        name = mutation.name.removeprefix("put_")
        items = [(name == "comment", _member(arguments, name))]
    elif mutation.name == "revise":
        said = _member(arguments, "edits")
        edits = cast("Sequence[Any]", said) if isinstance(said, list) else ()
        items = [(str(_member(edit, "key")).startswith("comments/"), _member(edit, "to")) for edit in edits]
    return all(
        is_seen_by(user, item) and not (is_comment and _member(item, "author") not in (None, user))
        for is_comment, item in items
    )


def _member(value: Any, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
