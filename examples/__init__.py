"""Reference applications, each on singletable's public API alone, with a README, front doors and tests of its own."""
