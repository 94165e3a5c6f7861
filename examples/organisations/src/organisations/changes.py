"""What follows from changes, by the table's stream: names and details reach their copies, and the trail is written."""

from __future__ import annotations

from organisations.copies import refresh_user_copies
from organisations.model import OrganisationMember, User, UserOrganisation, organisations
from organisations.trail import record_changes
from singletable import Database
from singletable.streams import Changes, Gap


def changes_of(db: Database) -> Changes:
    """The application's consumer of changes. Each handler may run twice: copies are compared before they are written,
    and an entry of the trail that is written again is the same one."""
    made = Changes(organisations, name="copies")
    made.keep_copies(OrganisationMember.of_organisation, to=UserOrganisation)
    made.on(User).modified(User.first_name, User.last_name, User.phone, User.shown_as)(
        lambda change: refresh_user_copies(db, change.new.email)
    )
    record_changes(made, db)

    @made.on_gap
    def look_again(gap: Gap) -> None:
        """Changes were lost: every user's copies are compared. What was lost of the trail stays lost."""
        for user in db.scan(User, consistent=True):
            refresh_user_copies(db, user.email)

    return made
