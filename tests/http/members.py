"""What a head has, whether its class is compiled or not."""


def members(head: object) -> set[str]:
    """Return the names of the attributes of *head* that are no methods."""
    return {name for name in dir(head) if name[0] != "_" and not callable(getattr(head, name))}
