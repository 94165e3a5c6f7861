"""Why a job can't be begun, or gone on with, by this program."""

from __future__ import annotations

from typing import Any, Literal

from singletable.errors import Conflict

JobRefusal = Literal["missing", "other program", "other table", "has ended", "too large"]


class JobRefused(Conflict):
    """A job is not there, has ended, is another table's, would be too large, or was begun by a program that does
    otherwise: with other classes, or of another version of the library. `reason` names which."""

    code = "conflict.job-refused"

    def __init__(self, what: str, *, reason: JobRefusal = "missing", **where: Any) -> None:
        super().__init__(what, **where)
        self.reason: JobRefusal = reason
