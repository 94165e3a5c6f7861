"""What the application needs of an AWS account: its table, and the roles of its programs.

singletable deploy organisations.deployment --format cloudformation > organisations.json
"""

from __future__ import annotations

from organisations.model import (
    GroupMember,
    Job,
    Organisation,
    OrganisationDetails,
    OrganisationMember,
    OrganisationService,
    TrailEntry,
    User,
    UserDetails,
    UserOrganisation,
    organisations,
    tasks,
)
from singletable.streams import Changes
from singletable_deploy import (
    Deployment,
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
    updates,
    writes_many,
)

web = Role(
    "web",
    [
        User.by_email,
        UserDetails.by_email,
        Organisation.by_id,
        OrganisationDetails.by_id,
        UserOrganisation.of_user,
        UserOrganisation.open_of_organisation,
        OrganisationMember.of_organisation,
        OrganisationMember.of_person,
        GroupMember.of_scope,
        OrganisationService.of_organisation,
        Job.by_id,
        TrailEntry.of_organisation,
        creates(User, Organisation, UserOrganisation, OrganisationMember, GroupMember, OrganisationService, Job),
        updates(User, Organisation, UserOrganisation, OrganisationMember, OrganisationService),
        deletes(UserOrganisation, OrganisationMember, GroupMember, OrganisationService),
        checks(Organisation, OrganisationService),
        schedules(tasks),
    ],
    service="ecs-tasks",
)
"""The API and the pages."""

worker = Role(
    "worker",
    [
        runs(tasks),
        handles(Changes(organisations, name="copies")),
        User.by_email,
        Organisation.by_id,
        UserOrganisation.of_user,
        UserOrganisation.open_of_organisation,
        OrganisationMember.of_organisation,
        OrganisationMember.of_person,
        GroupMember.of_scope,
        OrganisationService.of_organisation,
        Job.by_id,
        updates(Job, Organisation, UserOrganisation, OrganisationMember),
        puts(TrailEntry),
        deletes(Organisation),
        writes_many(UserOrganisation, OrganisationMember, GroupMember, OrganisationService),
        scans(organisations),  # after a gap in the stream, every user's copies are compared
    ],
    service="ecs-tasks",
)
"""Mail, names' copies, the deletion of organisations, the trail."""

deployment = Deployment(
    "organisations",
    tables=[organisations, Changes(organisations, name="copies").leases],
    roles=[web, worker, admin(organisations), read_only(organisations)],
)
