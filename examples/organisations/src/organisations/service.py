"""Every action of the application, in one class: each part says what its actions guarantee and cost.

`by` is who asks; `roles` says who may what. Without it the operator asks, who may do all. Requests are those of a call
that succeeds without meeting another writer; units are DynamoDB's, for items of up to 1 KB written and 4 KB read (W:
write units, R: read units).
"""

from __future__ import annotations

from dataclasses import dataclass

from organisations.base import random_id, utc_now
from organisations.erasure import Erasures
from organisations.invitations import Invitations
from organisations.lifecycle import Organisations
from organisations.messages import Messages
from organisations.permissions import Permissions
from organisations.services import Services
from organisations.users import Users

__all__ = ["Service", "random_id", "utc_now"]


@dataclass(frozen=True)
class Service(Users, Organisations, Services, Invitations, Permissions, Messages, Erasures):
    """The actions over a database. `Invitations` holds those on members, too."""
