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


def first_values(lines: bytes) -> dict[bytes, bytes]:
    """Return the same of all fields, by their names in lower case, for whoever asks for many of them."""
    found: dict[bytes, bytes] = {}
    for line in lines.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if colon:
            found.setdefault(name.lower(), value.strip(b" \t"))
    return found


def joined_value(lines: bytes, name: bytes) -> bytes:
    """Return the value of the field called *name*, in lower case; of several, that of all as one; empty when there is none.

    *lines* are as above.  Nearly always there is one at most, which costs no more than the first one does.
    """
    lowered = b"\n" + lines.lower()
    wanted = b"\n" + name + b":"
    at = lowered.find(wanted)
    if at < 0:
        return b""
    begin = at + len(wanted) - 1
    end = lines.find(b"\r\n", begin)
    if lowered.find(wanted, end) >= 0:
        return _as_one(name, all_values(lines, name))
    return lines[begin:end].strip(b" \t")


def all_values(lines: bytes, name: bytes) -> list[bytes]:
    """Return the values of all fields called *name*, in lower case; *lines* are as above."""
    lowered = b"\n" + lines.lower()
    wanted = b"\n" + name + b":"
    found: list[bytes] = []
    at = lowered.find(wanted)
    while at >= 0:
        begin = at + len(wanted) - 1
        end = lines.find(b"\r\n", begin)
        found.append(lines[begin:end].strip(b" \t"))
        at = lowered.find(wanted, end)
    return found


def combined_values(lines: bytes, name: bytes) -> bytes | None:
    """Return the values of all fields called *name*, in lower case, as one (RFC 9110 section 5.3); None when there is none.

    *lines* are as above.  Cookies have a separator of their own (RFC 9113 section 8.2.3).
    """
    found = all_values(lines, name)
    return _as_one(name, found) if found else None


def all_combined(lines: bytes) -> dict[bytes, bytes]:
    """Return the same of all fields, by their names in lower case, for whoever asks for many of them."""
    found: dict[bytes, list[bytes]] = {}
    for line in lines.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        if colon:
            found.setdefault(name.lower(), []).append(value.strip(b" \t"))
    return {name: _as_one(name, values) for name, values in found.items()}


def _as_one(name: bytes, values: list[bytes]) -> bytes:
    return (b"; " if name == b"cookie" else b", ").join(values)
