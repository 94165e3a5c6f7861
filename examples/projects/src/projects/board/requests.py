"""What the routes of the pages and of the API ask of a request."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, HTTPException, Request

from projects.board.callers import Callers
from projects.board.service import Boards


def _boards(request: Request) -> Boards:
    return cast(Boards, request.app.state.boards)


def _caller(request: Request) -> str:
    user = callers_of(request)(request.headers)
    if user is None:
        raise HTTPException(401)
    return user


def callers_of(request: Request) -> Callers:
    return cast(Callers, request.app.state.callers)


App = Annotated[Boards, Depends(_boards)]
Caller = Annotated[str, Depends(_caller)]
