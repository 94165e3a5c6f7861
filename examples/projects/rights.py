"""Who may change a board: the people of its organisation, each in their own name, and the operator."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from examples.projects.errors import Refused
from singletable.documents import Submission


def organisation_of(user: str) -> str:
    """`example.com` for `ada@example.com`; `demo` for `demo`."""
    return user.rpartition("@")[2]


def check_may_change(submission: Submission, draft: Any) -> None:
    """Asked before each mutation is applied, by whichever call applies it. Refused, which is then its outcome.

    What comes in over HTTP has a principal, always. The operator's own mutations have none.
    """
    user = submission.principal
    if user is None:
        return
    if organisation_of(user) != draft.organisation:
        raise Refused("this board is another organisation's")
    if submission.mutation.name == "put_comment" and not is_signed_by(user, submission.mutation.arguments):
        raise Refused("a comment is signed with its author's own name")


def is_signed_by(user: str, arguments: str) -> bool:
    """Whether a comment says that it is the user's, or nobody's."""
    comment = _member(msgspec.json.decode(arguments), "comment")
    return _member(comment, "author") in (None, user)


def _member(value: Any, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
