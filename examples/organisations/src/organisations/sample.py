"""A small organisation file, for the walk-through and for trying things out."""

SAMPLE_ID = "harbour"
SAMPLE = """\
name: Harbour
admins: [Ada, Grace]
members: [Linus, barbara, Edsger, Margaret]
teams:
  release:
    members: [Linus]
    maintainers: [ada]
    repos: {engine: maintain, docs: write}
    teams:
      release-notes:
        members: [margaret]
        repos: {docs: triage}
  ci/cd:
    members: [barbara, Edsger]
    repos: {engine: write}
"""
