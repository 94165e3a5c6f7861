"""What the application needs of an AWS account: its table, a queue, three functions, and the roles of its programs.

singletable deploy manhunt.deployment --format cloudformation > manhunt.json
"""

from __future__ import annotations

from datetime import timedelta

from manhunt.model import (
    Alarm,
    Contact,
    ContactDetails,
    ContactMethod,
    Conversation,
    Incident,
    IncidentDetails,
    IncidentPerson,
    IncidentResource,
    IncidentSearch,
    Policy,
    Reaction,
    Rota,
    Search,
    SearchAttempt,
    SearchDetails,
    manhunt,
    tasks,
)
from singletable.streams import Changes
from singletable_deploy import (
    Deployment,
    Function,
    MessageQueue,
    Role,
    admin,
    checks,
    creates,
    deletes,
    handles,
    puts,
    read_only,
    runs,
    scans,
    schedules,
    sends,
    updates,
)

ANYBODYS: dict[str, str] = dict.fromkeys(
    ["contact_id", "domain_id", "incident_id", "policy_id", "rota_id", "search_id", "number"], "*"
)
"""In this layout a partition key is a bare id: no policy can tell a contact's from an incident's, so a role is held to
actions and indexes alone. Whose an item is, the service checks."""
changes = Changes(manhunt, name="escalation")
queue = MessageQueue("manhunt-tasks", is_fifo=True)

SEARCHES = (
    Search.by_id,
    Search.by_contact,
    Search.by_status,
    SearchDetails.by_id,
    SearchAttempt.of_search,
    Conversation.with_number,
    Contact.by_id,
    ContactDetails.by_id,
    ContactMethod.of_contact,
    Incident.by_id,
    IncidentDetails.by_id,
    Policy.by_id,
    Rota.by_id,
)
"""What both programs read."""
WRITES = (
    creates(Search, SearchAttempt, IncidentSearch, Reaction),
    puts(Incident, IncidentPerson, Conversation),
    updates(Search, SearchAttempt, Incident),
    deletes(Alarm),
    checks(Search, Incident, Contact, Rota),
    schedules(tasks),
)
"""What both programs write: an answer comes to the web, and the next step is the worker's."""

web = Role(
    "web",
    [
        *SEARCHES,
        *WRITES,
        Contact.by_domain,
        Policy.by_domain,
        Rota.by_domain,
        Incident.by_domain,
        Incident.by_status,
        Alarm.by_key,
        IncidentSearch.of_incident,
        IncidentPerson.of_incident,
        IncidentResource.of_incident,
        Reaction.of_incident,
        creates(Contact, ContactMethod, Policy, Rota, Incident, Alarm, IncidentResource),
        updates(Contact, ContactMethod, Policy, Rota),
        deletes(Contact, ContactMethod, Policy, Rota),
    ],
    where=ANYBODYS,
    service="ecs-tasks",
)
"""The API, the pages, and the addresses that messages and providers answer at."""

worker = Role(
    "worker",
    [*SEARCHES, *WRITES, runs(tasks), handles(changes), scans(manhunt)],  # a gap in the stream is looked at again
    where=ANYBODYS,
    service="ecs-tasks",
)
"""The process `work`."""

functions = Role("functions", [*SEARCHES, *WRITES, runs(tasks), sends(queue)], where=ANYBODYS, service="lambda")
"""The three functions that do the same without a process."""

deployment = Deployment(
    "manhunt",
    tables=[manhunt, changes.leases],
    roles=[web, worker, admin(manhunt), read_only(manhunt)],
    functions=[
        Function(
            "manhunt-on-change",
            "manhunt.lambda_functions.on_change",
            functions,
            changes,
            {"MANHUNT_QUEUE_URL": queue},
        ),
        Function(
            "manhunt-on-task",
            "manhunt.lambda_functions.on_task",
            functions,
            queue,
            {"MANHUNT_QUEUE_URL": queue},
        ),
        Function(
            "manhunt-send-due",
            "manhunt.lambda_functions.send_due",
            functions,
            timedelta(minutes=1),
            {"MANHUNT_QUEUE_URL": queue},
        ),
    ],
)
