"""What a program behind CGI is told of a request, besides the fields and the body of it."""

from ingress.model.frozen import frozen


@frozen
class CgiRequest:
    """The params that a route gives to an endpoint of FastCGI, each a name and a value as they are sent.

    What frames the body (``CONTENT_LENGTH``) and the fields of the request (``HTTP_...``) are not among them, unless the route
    says something else of the latter, which has the last word then.
    """

    params: tuple[tuple[bytes, bytes], ...] = ()
    keeps_connection: bool = False
    """Whether the connection is for further requests, too: as long as it rests, a process of PHP-FPM waits at it for nobody else."""
