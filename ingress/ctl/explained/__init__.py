"""Explanations on their way to a person: as text, from a controller, and compared with what was expected."""
