"""What came with a request, as text for pages; credentials are left out."""

from collections.abc import Iterable

from ingress.explain.asking import CREDENTIALS, NOT_SHOWN


def shown_bytes(octets: bytes) -> str:
    """Return *octets* as text, whatever they are."""
    return octets.decode("utf-8", "backslashreplace")


def shown_fields(fields: Iterable[tuple[bytes, bytes]]) -> tuple[tuple[str, str], ...]:
    """Return names and values; what proves who somebody is stays out."""
    return tuple(
        (shown_bytes(name), NOT_SHOWN if name.lower() in CREDENTIALS else shown_bytes(value))
        for name, value in fields
    )
