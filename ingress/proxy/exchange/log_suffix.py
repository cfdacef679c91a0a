"""What stands in brackets behind trouble that is told now and then: which request it befell, and how often it came before."""


def shown_id(request: bytes) -> str:
    """Return the id of a *request* as the log shows it: a client may have chosen it, of visible characters."""
    return request.decode("latin-1")


def log_suffix(request: bytes, untold: int) -> str:
    """Return what stands behind a line about *request*, if it has an id, after so many that were *untold*; empty for nothing."""
    parts = [f"request {shown_id(request)}"] if request else []
    if untold:
        parts.append(f"{untold} more since it was last told")
    return f" ({', '.join(parts)})" if parts else ""
