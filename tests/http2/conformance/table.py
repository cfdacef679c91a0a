"""The table of the well-known cases, in the order of the documents, and the rules beyond them."""

from __future__ import annotations

from tests.http2.conformance import (
    accepted,
    fields,
    framing,
    kinds,
    messages,
    more_fields,
    more_frames,
    more_messages,
    streams,
    windows,
)
from tests.http2.conformance.rows import Row

ACCEPTED: tuple[Row, ...] = accepted.ROWS
"""What must be taken and answered."""
REFUSED: tuple[Row, ...] = framing.ROWS + streams.ROWS + kinds.ROWS + windows.ROWS + messages.ROWS
"""What RFC 9113 says about everything else."""
UNDECODABLE: tuple[Row, ...] = fields.ROWS
"""What RFC 7541 forbids."""

ROWS = ACCEPTED + REFUSED + UNDECODABLE

MORE: tuple[Row, ...] = more_frames.ROWS + more_messages.ROWS + more_fields.ROWS
"""Rules beyond the well-known cases."""
