"""The telephone provider's requests, in Twilio's shape: a reply came in, a call was picked up, a key was pressed.

Each request is signed with the account's token, and nothing unsigned is looked at.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64encode
from collections.abc import Mapping
from typing import Annotated
from xml.etree.ElementTree import Element, SubElement, tostring

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import Response

from examples_shared.forms import Fields, Form
from manhunt import searches
from manhunt.errors import AlreadyEnded, Missing
from manhunt.messages import text_of
from manhunt.model import Status
from manhunt.web import App, web_of

MAX_SAID = 200
routes = APIRouter(prefix="/telephone", include_in_schema=False)


def signature(token: str, url: str, form: Mapping[str, str]) -> str:
    """Over the address as the provider was given it, and the fields by name."""
    text = url + "".join(name + form[name] for name in sorted(form))
    return b64encode(hmac.new(token.encode(), text.encode(), hashlib.sha1).digest()).decode()


async def _signed(request: Request, form: Form) -> Fields:
    """The fields of a request that the provider signed."""
    web = web_of(request)
    if web.telephone is None:
        raise HTTPException(404)
    query = f"?{request.url.query}" if request.url.query else ""
    wanted = signature(web.telephone.token, f"{web.links.base_url}{request.url.path}{query}", form)
    given = request.headers.get("x-twilio-signature", "")
    if not hmac.compare_digest(wanted.encode(), given.encode()):
        raise HTTPException(403, "not signed by the account's token")
    return form


Signed = Annotated[Fields, Depends(_signed)]


@routes.post("/text")
def reply(app: App, form: Signed) -> Response:
    """A text from a number answers the last attempt that went there."""
    try:
        app.answer_from(form.get("From", ""), how="text", said=form.get("Body", "")[:MAX_SAID])
    except AlreadyEnded:
        return _spoken("Message", "Thank you. Somebody has answered already.")
    except Missing:
        return _spoken("Message", "Nobody is looking for you.")
    return _spoken("Message", "Thank you: your answer is noted.")


@routes.post("/call/{token}")
def picked_up(request: Request, app: App, token: str, form: Signed) -> Response:
    """What the call says. A voice box hears it too: only a key answers."""
    search_id, step = web_of(request).links.read("call", token)
    search = searches.read(app.db, search_id)
    if search.status is not Status.ACTIVE:
        return _spoken("Say", "Hello. This has been settled: you are not needed any more. Goodbye.")
    answer = Element("Response")
    key_url = f"{web_of(request).links.call(search, step)}/key"
    gather = SubElement(answer, "Gather", numDigits="1", action=key_url, method="POST", timeout="10")
    SubElement(gather, "Say").text = f"{text_of(search.message, search.metadata)}. To answer, press any key."
    return _xml(answer)


@routes.post("/call/{token}/key")
def key_pressed(request: Request, app: App, token: str, form: Signed) -> Response:
    search_id, step = web_of(request).links.read("call", token)
    key = form.get("Digits", "")
    if not key:
        return _spoken("Say", "No key was pressed. Goodbye.")
    try:
        app.answer(search_id, step, how="call", said=f"key {key[:1]}")
    except AlreadyEnded:
        return _spoken("Say", "Thank you. Somebody has answered already. Goodbye.")
    return _spoken("Say", "Thank you: your answer is noted. Goodbye.")


def _spoken(verb: str, text: str) -> Response:
    answer = Element("Response")
    SubElement(answer, verb).text = text
    return _xml(answer)


def _xml(answer: Element) -> Response:
    return Response(tostring(answer, "utf-8", xml_declaration=True), media_type="application/xml")
