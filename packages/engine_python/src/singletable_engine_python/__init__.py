"""ministack's DynamoDB, for `singletable.connect("local")`: a process of its own imports it from `emulator`."""
