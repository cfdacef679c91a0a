"""The options: one table, and what is made of it: the help, the page, and ``Settings``."""
