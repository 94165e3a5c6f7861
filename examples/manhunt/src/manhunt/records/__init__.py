"""The records, by what they are about; `manhunt.model` has all their names."""
