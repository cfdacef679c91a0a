"""The value of one field in the lines of a head, for the few who ask for a field by its name."""


def first_value(lines: bytes, name: bytes) -> bytes:
    """Return the value of the first field called *name*, in lower case; empty when there is none.

    *lines* are field lines that were validated, each with its CRLF.
    """
    lowered = lines.lower()
    wanted = name + b":"
    at = 0
    if not lowered.startswith(wanted):
        at = lowered.find(b"\n" + wanted) + 1
        if not at:
            return b""
    return lines[at + len(wanted) : lines.find(b"\r\n", at)].strip(b" \t")
