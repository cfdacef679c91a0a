"""Examples of filters for txingress, one a module."""
