"""The scripts, by what they break: each is one function that says in its docstring what, and one row of the table."""
