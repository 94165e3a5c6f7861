"""What is made of all four applications: their tours, and the program that `make demo` runs."""
