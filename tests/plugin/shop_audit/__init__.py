"""Audits of tables: who has looked at one, and which items have a blank name."""
