"""The sorts of streams: connections whose bytes go to an endpoint as they come, and of which no request is read."""

from enum import Enum


class StreamSort(Enum):
    """What is known of a stream, and what is done about its TLS."""

    TCP = "tcp"
    """Nothing is known but the listener that took it."""
    UDP = "udp"
    """Datagrams, of which nothing is known but the port that took them."""
    PASSTHROUGH = "passthrough"
    """TLS of which the server name is known, and that goes on as it is."""
    TERMINATED = "terminated"
    """TLS that is terminated here; what it carried goes on."""
    REQUESTS = "requests"
    """It is no stream: requests are read of it."""
