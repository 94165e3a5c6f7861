"""Exports: beside a bare scan of the same table, and beside other programs that read a table whole."""
