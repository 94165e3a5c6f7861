"""What the applications share: their errors, what an action took, the terminal, and who asks."""
