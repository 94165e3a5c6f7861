"""All forms of the applications and of the studio, and what each does. `tests/e2e/test_forms.py` fails where one is not
here.

`edit`: it changes what is stored. It carries what the page showed, and is refused where that was changed meanwhile: in
two tabs, in the application's `test_forms.py`. `choose`: it makes or does something with what somebody chooses of many:
at 101 and 1,000 choices there, too. `make`: it makes something new of what is typed, or is refused where that is there.
`act`, `delete`: it does one thing to what it names. `ask`: it reads. `session`: signing in and out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

SESSION = {"/sign-in": "session", "/sign-out": "session"}
FORMS: Mapping[str, Mapping[str, str]] = {
    "goals": {
        **SESSION,
        "/create-user": "make",
        "/rename-user/{user_id:path}": "edit",
        "/delete-user/{user_id:path}": "delete",
        "/create-team": "make",
        "/rename-team/{team_id:path}": "edit",
        "/delete-team/{team_id:path}": "delete",
        "/set-team-role/{team_id:path}": "edit",
        "/leave-team/{team_id:path}": "delete",
        "/create-goal/{team_id:path}": "make",
        "/create-key-result/{goal_id:path}": "make",
        "/create-sub-goal/{goal_id:path}": "make",
        "/change-goal/{goal_id:path}": "edit",
        "/delete-goal/{goal_id:path}": "delete",
        "/set-role/{goal_id:path}": "edit",
        "/leave/{goal_id:path}": "delete",
        "/subscribe/{goal_id:path}": "act",
        "/unsubscribe/{goal_id:path}": "act",
        "/comment/{goal_id:path}": "make",
        "/check-in/{goal_id:path}": "edit",
        "/delete-entry/{goal_id:path}": "delete",
    },
    "manhunt": {
        **SESSION,
        "/contacts": "make",
        "/contacts/{contact_id}/name": "edit",
        "/contacts/{contact_id}/quiet-hours": "edit",
        "/contacts/{contact_id}/delete": "delete",
        "/contacts/{contact_id}/methods": "make",
        "/contacts/{contact_id}/methods/{method_id}": "edit",
        "/contacts/{contact_id}/methods/{method_id}/delete": "delete",
        "/contacts/{contact_id}/searches": "make",
        "/searches/{search_id}/cancel": "act",
        "/answer/{token}": "act",
        "/rotas": "choose",
        "/rotas/{rota_id}": "edit",
        "/rotas/{rota_id}/delete": "delete",
        "/rotas/{rota_id}/overrides": "choose",
        "/rotas/{rota_id}/overrides/{override_id}/delete": "delete",
        "/policies": "choose",
        "/policies/{policy_id}": "edit",
        "/policies/{policy_id}/delete": "delete",
        "/incidents": "choose",
        "/incidents/{incident_id}/acknowledge": "act",
        "/incidents/{incident_id}/snooze": "act",
        "/incidents/{incident_id}/reassign": "choose",
        "/incidents/{incident_id}/resolve": "act",
        "/incidents/{incident_id}/resources": "make",
    },
    "organisations": {
        **SESSION,
        "/me": "edit",
        "/o": "make",
        "/o/{organisation_id}/accept": "act",
        "/o/{organisation_id}/decline": "act",
        "/o/{organisation_id}/leave": "act",
        "/o/{organisation_id}/rename": "edit",
        "/o/{organisation_id}/delete": "delete",
        "/o/{organisation_id}/services": "make",
        "/o/{organisation_id}/services/rename": "edit",
        "/o/{organisation_id}/services/delete": "delete",
        "/o/{organisation_id}/invitations": "make",
        "/o/{organisation_id}/invitations/withdraw": "delete",
        "/o/{organisation_id}/give": "choose",
        "/o/{organisation_id}/take": "delete",
        "/o/{organisation_id}/remove": "delete",
        "/o/{organisation_id}/messages": "make",
    },
    "projects": {
        **SESSION,
        "/projects": "make",
        "/projects/{project_id:path}/branches": "make",
        "/projects/{project_id:path}/tags": "make",
        "/projects/{project_id:path}/merge": "choose",
    },
    "studio": {
        "/sample/{table}": "ask",
        "/check/{table}": "ask",
        "/patterns/{table}/{entity}/{name}": "ask",
        "/item/{table}/edit": "edit",  # by a digest of what was seen: tests/studio/test_items.py
        "/item/{table}/delete": "edit",
        "/documents/{table}/{kind}/restore": "make",  # a new version: nothing is overwritten
        "/work/{table}/task": "act",
        "/work/{table}/letter": "act",
    },
}


def pattern_of(application: str, action: str) -> str:
    """The path of the table that a form's action is."""
    found = [path for path in FORMS[application] if re.fullmatch(_regex(path), action)]
    return max(found, key=lambda path: len(re.sub(r"\{.*?\}", "", path)))


def edits_of(application: str) -> set[str]:
    return {path for path, kind in FORMS[application].items() if kind == "edit"}


def _regex(path: str) -> str:
    return re.sub(r"\{\w+:path\}", ".+", re.sub(r"\{\w+\}", "[^/]+", path))
