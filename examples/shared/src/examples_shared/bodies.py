"""What programs send to an HTTP API: JSON, and what is asked in an address. What nobody reads is refused: a mistyped
field would otherwise be dropped without a word."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ConfigDict


class Input(BaseModel):
    """JSON, or a part of an address, that holds what it names and nothing else."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ApiRoute(APIRoute):
    """A route of an API: `APIRouter(route_class=ApiRoute)`. What an address asks and the route does not is refused."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle, known = super().get_route_handler(), _asked(self.dependant)

        async def answer(request: Request) -> Response:
            if unknown := sorted(set(request.query_params) - known):
                said = {"type": "extra_forbidden", "loc": ("query", unknown[0]), "msg": "nothing of this name is asked"}
                raise RequestValidationError([said | {"input": unknown[0]}])
            return await handle(request)

        return answer


def _asked(dependant: Dependant) -> set[str]:
    """The names that a route and what it depends on ask for in an address."""
    names = {name for each in dependant.dependencies for name in _asked(each)}
    for parameter in dependant.query_params:
        fields: dict[str, Any] | None = getattr(parameter.field_info.annotation, "model_fields", None)
        names |= {parameter.alias} if fields is None else fields.keys()
    return names
