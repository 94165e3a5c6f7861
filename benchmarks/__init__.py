"""Side by side with other libraries: `python -m benchmarks.peers`. See README.md for what is measured, and how."""
