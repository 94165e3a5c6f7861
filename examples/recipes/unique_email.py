"""Unique e-mail: no two users with one address, even when both register at the same moment.

A read before the write can't promise that: both reads find nothing. `field(unique=True)` writes a guard item for the
value in the transaction that writes the user, and DynamoDB lets one of the two transactions through.
"""

from singletable import Database, Entity, Key, NotUnique, Table, attr, connect, field

app = Table("app")


class User(Entity, table=app, type="user"):
    user_id: str
    email: str = field(unique=True)

    @app.key
    @staticmethod
    def by_id(user_id: str) -> Key:
        """One user."""
        return f"user#{user_id}", "user"


def register(db: Database, user_id: str, email: str) -> bool:
    """False where somebody has the address. Compare addresses in one form: here, lower case."""
    try:
        db.create(User(user_id=user_id, email=email.lower()))
    except NotUnique:
        return False
    return True


def change_email(db: Database, user: User, email: str) -> User:
    """Takes the new address and frees the old one, or does neither. NotUnique, NotFound."""
    return db.update(user, attr(User.email).set(email.lower()))


def main() -> None:
    with connect("local") as db:
        with db.meter() as registering:
            print("ada registers:", register(db, "u1", "Ada@example.org"))
        with db.meter() as refused:
            print("another with her address:", register(db, "u2", "ada@example.org"))

        ada = db.get(User.by_id("u1"))
        assert ada is not None
        with db.meter() as changing:
            print("ada is now", change_email(db, ada, "ada@engines.example").email)
        print("the first address is free again:", register(db, "u3", "ada@example.org"))

        with db.meter() as deleting:
            db.delete(User.by_id("u1"))
        print("what is not as it should be:", db.check(app))

        print("costs")
        print("  register:", registering)
        print("  refused: ", refused)
        print("  change:  ", changing)
        print("  delete:  ", deleting)
        print("A refused write is charged like one that succeeds; DynamoDB's answer just doesn't report it.")


if __name__ == "__main__":
    main()
