"""Pages of the studio: the CPU time of the server, and a partition of any number of items."""
