"""What the tests of several applications share: commands, servers and mail in processes of their own, forms as a
browser has them, and databases with nothing in them.
"""
