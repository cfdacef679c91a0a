"""Values as plain data."""
