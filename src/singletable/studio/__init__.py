"""The studio: a declared table in the browser, for one person on loopback or mounted in an application.

    app.mount("/admin", studio(db, shop, authenticate=user_of, authorise=may))

`singletable studio shop.model` starts one. `site` is what a studio shows, `page` what a page is, `application` the
ASGI application, `gates` and `guard` who comes in; each module of `pages` is one section. Needs `singletable[studio]`.
"""

from __future__ import annotations

from singletable.studio.application import Studio
from singletable.studio.factories import loopback_studio, studio
from singletable.studio.gates import Authenticator, Authoriser, Right
from singletable.studio.page import Action, Feed, Page, PageAnswer, Section
from singletable.studio.view import Crumb, View
from singletable.studio.visit import Visit
from singletable.sync import HttpRequest

__all__ = [
    "Action",
    "Authenticator",
    "Authoriser",
    "Crumb",
    "Feed",
    "HttpRequest",
    "Page",
    "PageAnswer",
    "Right",
    "Section",
    "Studio",
    "View",
    "Visit",
    "loopback_studio",
    "studio",
]
