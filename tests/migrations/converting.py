"""A table whose contacts become persons and companies, and become contacts again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from singletable import ANY, Entity, Key, Table, field


class Crm(NamedTuple):
    """A version of the table, and its classes; None for those that it doesn't have."""

    table: Table
    Contact: Any
    Person: Any = None
    Company: Any = None


def contact(table: Table) -> Any:
    class Contact(Entity, table=table, type="contact"):
        id: int
        mail: str | None = field(default=None, unique=True)
        company: str = ""
        note: str = ""

        @table.key
        @staticmethod
        def by_id(id: int) -> Key:
            return f"contact#{id}", "contact"

        @table.index("gsi1")
        @staticmethod
        def of_company(company: str, id: int = ANY) -> Key:
            return f"of#{company}", f"contact#{id}"

    return Contact


def person(table: Table) -> Any:
    class Person(Entity, table=table, type="person"):
        id: int
        mail: str | None = field(default=None, unique=True)
        company: str = ""

        @table.key
        @staticmethod
        def by_id(id: int) -> Key:
            return f"person#{id}", "person"

        @table.index("gsi1")
        @staticmethod
        def of_company(company: str, id: int = ANY) -> Key:
            return f"of#{company}", f"person#{id}"

    return Person


def company(table: Table) -> Any:
    class Company(Entity, table=table, type="company"):
        name: str
        note: str = ""

        @table.key
        @staticmethod
        def by_name(name: str) -> Key:
            return f"company#{name}", "company"

    return Company


def old() -> Crm:
    """The version with contacts alone."""
    table = Table("crm", indexes=["gsi1"])
    return Crm(table, contact(table))


def new(function: Callable[[Any], Any] | None = None) -> Crm:
    """The version in which contacts become persons and companies, by a function of a contact if it is given."""
    table = Table("crm", indexes=["gsi1"])
    Contact, Person, Company = contact(table), person(table), company(table)

    def in_two(one: Any) -> Any:
        made = Person(id=one.id, mail=one.mail, company=one.company)
        return [made, Company(name=one.company, note=one.note)] if one.company else made

    Contact.becomes(Person, Company)(function or in_two)
    return Crm(table, Contact, Person, Company)


def back() -> Crm:
    """The version in which persons become contacts again, and companies are not declared."""
    table = Table("crm", indexes=["gsi1"])
    Contact, Person = contact(table), person(table)

    def of_person(one: Any) -> Any:
        return Contact(id=one.id, mail=one.mail, company=one.company)

    Person.becomes(Contact)(of_person)
    return Crm(table, Contact, Person)


def merging() -> Crm:
    """The version in which contacts become persons, of which there are some."""
    table = Table("crm", indexes=["gsi1"])
    Contact, Person = contact(table), person(table)

    def of_contact(one: Any) -> Any:
        return Person(id=one.id, mail=one.mail, company=one.company)

    Contact.becomes(Person)(of_contact)
    return Crm(table, Contact, Person)


def splitting_off() -> Crm:
    """The version in which a contact's note is the company's, and the contact stays."""
    table = Table("crm", indexes=["gsi1"])
    Contact, Company = contact(table), company(table)

    def note_of(one: Any) -> Any:
        if not one.note:
            return one
        made = Company(name=f"{one.company}{one.id}", note=one.note)
        one.note, one.mail = "", f"new{one.id}@example.org"
        return one, made

    Contact.becomes(Company)(note_of)
    return Crm(table, Contact, Company=Company)
