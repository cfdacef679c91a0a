"""How much is done for one connection in one turn of the reactor, whatever it is that it has us do.

A peer can have any number of things done by few bytes: fields to decode, chunks, frames, requests that are
answered by ourselves.  All of it is counted in one currency, *work*: about what it costs to decode a byte of fields.
Whoever reads what a connection received stops once ``TURN_WORK`` is spent and goes on in later turns.  These are
shorter (``LATER_TURN_WORK``): what goes on in them has used up what anybody may, and each of them is a wait for all others,
twice for each request, which is to be read and to be answered.  The last thing that was begun is ended: a head, or of a
field block of HTTP/2 one field.  Bytes that are only passed on cost nothing here, since a read is bounded.
"""

from typing import Final

TURN_WORK: Final = 16 * 1024
"""About a millisecond."""
LATER_TURN_WORK: Final = 4 * 1024
"""Of a turn in which somebody goes on who has had one: about a quarter of a millisecond."""
SECONDS_OF_WORK: Final = 0.004 / TURN_WORK
"""What a unit of work may take at most.  A request whose route decides much takes longer than it counts: whoever begins several in
one turn begins no more once they have taken four times what they counted as, with the fastest of processors in mind."""
REQUEST_WORK: Final = 256
"""A request, besides what its fields and its target cost: it may be answered at once."""
FRAME_WORK: Final = 64
"""A frame of HTTP/2, of whatever kind."""
PIECE_WORK: Final = 16
"""A chunk of a body, or a frame that goes on with another one's."""
LIST_BYTES_OF_WORK: Final = 8
"""Of a list of fields as HPACK counts it: a field that comes by its index is an octet, but no less to look at."""
