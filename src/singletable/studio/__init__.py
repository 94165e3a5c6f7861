"""The studio: a declared table in the browser, for one person on loopback or mounted in an application.

    app.mount("/admin", studio(db, shop, authenticate=user_of, authorise=may))

`singletable studio shop.model` starts one. `site` is what a studio shows, `page` what a page is, `application` the
ASGI application, `gates` (user and rights) and `guard` (host, origin, method) who comes in, `visit` what they may read
and write; each module of `pages` is one section. Needs `singletable[studio]`.
"""

from __future__ import annotations

from singletable.studio.application import Studio as Studio
from singletable.studio.factories import loopback_studio as loopback_studio, studio as studio
from singletable.studio.gates import Authenticator as Authenticator, Authoriser as Authoriser, Right as Right
from singletable.studio.page import (
    Action as Action,
    Feed as Feed,
    Page as Page,
    PageAnswer as PageAnswer,
    Section as Section,
)
from singletable.studio.view import Crumb as Crumb, View as View
from singletable.studio.visit import Visit as Visit
from singletable.sync import HttpRequest as HttpRequest
