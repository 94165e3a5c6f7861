"""The records, by what they are about; `examples.manhunt.model` has all their names."""
