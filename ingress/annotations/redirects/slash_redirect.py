"""The redirect to a path with a slash at its end, for requests that lack it.

nginx does that where a path ends in a slash and requests are passed on (``location`` in
https://nginx.org/en/docs/http/ngx_http_core_module.html), and so does ingress-nginx for paths of all types that
are no regular expressions.  ``ingress.translate.hosts.slashes`` says where that holds.
"""

from typing import ClassVar
from urllib.parse import quote_from_bytes

from ingress.filter_parts.judging import Judging, status_reply
from ingress.filters import Filter, Phase, Reply, Services
from ingress.model.frozen import frozen
from ingress.model.requests.request_facts import RequestedUri


@frozen
class SlashRedirect:
    """Answers 301 to *path*, in normal form, on the same host, with the query of the request.

    The location is completed by scheme and host unless it *is_relative*.
    """

    phase: ClassVar[Phase] = Phase.REDIRECT
    name: ClassVar[str] = "slash-redirect"

    path: bytes
    is_relative: bool = False

    def describe(self) -> str:
        """Say where requests are sent."""
        return f"redirects to {self.path.decode('utf-8', 'replace')!a}, with the slash at the end"

    def make(self, services: Services) -> Filter:
        """Make the filter that redirects."""
        return Judging(self.judge)

    def judge(self, request: RequestedUri) -> Reply | None:
        """Redirect *request*, whatever it is."""
        host = request.host
        location = quote_from_bytes(self.path, safe="/:@!$&'()*+,;=~").encode()
        if host and not self.is_relative:
            location = b"%b://%b%b" % (request.scheme, host, location)
        _, mark, query = request.target.partition(b"?")
        return status_reply(301, (b"Location", location + (mark + query if query else b"")))
