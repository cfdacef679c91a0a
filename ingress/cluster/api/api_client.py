"""The API server over HTTP, by way of the ``kubernetes`` package.

Only this module and ``credentials``, which loads the configuration, use that package.  Used
of it here: ``RESTClientObject``, for TLS, proxies and the connection pool, and what the configuration says of
credentials.  Its watch, informer and retries are not used; who calls here decides what an error means.

Everything here blocks, and belongs into threads of our own.  What fails is a ``StartError`` while
loading, and a ``KubernetesError`` afterwards.
"""

import http.client
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from http import HTTPStatus
from threading import Lock
from time import monotonic
from typing import Any
from urllib.parse import quote

import urllib3
from twisted.logger import Logger
from urllib3 import HTTPHeaderDict
from urllib3.exceptions import HTTPError, InsecureRequestWarning, ReadTimeoutError

from ingress.cluster.api.api_status import (
    BROKEN,
    NO_CREDENTIALS,
    SILENT,
    SLOW,
    UNREACHABLE,
    ObjectMissingError,
    error_from_status,
    one_line,
)
from ingress.cluster.api.credential_plugin import PluginError
from ingress.cluster.api.credentials import CredentialSource, proxy_of
from ingress.cluster.api.interruptible_pools import pool_classes
from ingress.cluster.api.package_parts import ApiException, Configuration, RESTClientObject
from ingress.cluster.api.read_deadline import ReadDeadline
from ingress.cluster.json_text import decoded
from ingress.errors import KubernetesError, StartError
from ingress.model.frozen import frozen
from ingress.model.reporting.writes import JSON
from ingress.process.interruption import Interruption
from ingress.process.version import running_version

log = Logger()

_CHUNK_BYTES = 64 * 1024
_REFUSAL_SECONDS = 5.0
"""How long the words of a refusal are waited for; without them its HTTP status has to do."""
_RENEWAL_PAUSE_SECONDS = 10.0


def user_agent() -> str:
    """The ``User-Agent`` of our requests; without a version when run from bare sources."""
    return f"txingress/{running_version()}".removesuffix("/")


@frozen
class ApiRequest:
    """One request; *body* is JSON of the media type *content_type*.

    *accept* is the media type of the answer.  *timeouts* are the seconds for connecting and for each silence; None for those of the access.
    *wants_answer* says that the object is of interest that comes back, and not only that one came.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Mapping[str, Any] | None = None
    content_type: str = JSON
    timeouts: tuple[float, float] | None = None
    wants_answer: bool = True
    accept: str = JSON


class ApiAccess:
    """Address and credentials of one API server, shared by all threads that talk to it.

    *connect_seconds* bounds connecting, *read_seconds* the silence before and between bytes
    of an answer: a healthy watch sends a bookmark about every 60 s, so one that is silent for
    75 s is dead, whatever its socket says.
    """

    def __init__(
        self,
        credentials: CredentialSource,
        *,
        connect_seconds: float = 5.0,
        read_seconds: float = 75.0,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._credentials = credentials
        self.timeouts = (connect_seconds, read_seconds)
        self._clock = clock
        self._user_agent = user_agent()
        self._lock = Lock()
        self._configuration: Configuration | None = None
        self._generation = 0
        self._renewed = 0.0
        self.trouble: StartError | None = None
        """Why credentials that were refused could not be loaded anew; None where they could, or were not tried."""
        self.namespace = ""
        """The namespace that we are in, or that the kubeconfig names; known once loaded."""
        self.proxy = ""
        """The proxy through which the API server is asked, empty for none; known once loaded."""

    def load(self) -> str:
        """Load the configuration; return the API server's address.  Raises ``StartError``."""
        with self._lock:
            configuration = self._read()
            self.namespace = self._credentials.namespace()
            self.proxy = proxy_of(configuration)
            if not configuration.verify_ssl:
                log.warn("the certificate of the API server {host} is not verified", host=configuration.host)
                urllib3.disable_warnings(InsecureRequestWarning)
        return str(configuration.host)

    def renew(self, generation: int) -> None:
        """Load credentials anew, because those of *generation* were refused.

        Does nothing when another thread did so already, or when the last time is not long ago.  Raises nothing: what cannot be
        loaded is told, and tried again when these are refused again.
        """
        with self._lock:
            now = self._clock()
            if generation != self._generation or now - self._renewed < _RENEWAL_PAUSE_SECONDS:
                return
            # Before it is tried: whatever becomes of it, the next time is not soon.
            self._renewed = now
            try:
                self._read()
                self.trouble = None
            except StartError as error:
                self.trouble = error
                log.warn("credentials cannot be loaded anew: {reason}", reason=str(error))
            except Exception:
                # Whoever renews is in the middle of a failure, and a thread that would end by this one.
                log.failure("credentials cannot be loaded anew: a bug; it is tried again")

    def client(self, generation: int) -> tuple[int, RESTClientObject] | None:
        """A client with the present configuration, or None when *generation* has it."""
        with self._lock:
            if generation == self._generation:
                return None
            return self._generation, RESTClientObject(self._configuration)

    def addressed(self, client: RESTClientObject, request: ApiRequest) -> tuple[str, HTTPHeaderDict]:
        """Return the URL of *request* and its fields, with the credentials of *client*, which may be read anew here, or by a plugin."""
        headers = HTTPHeaderDict({"Accept": request.accept, "User-Agent": self._user_agent})
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        configuration = client.configuration
        with self._lock:
            # These may have another address, too.
            for credential in configuration.auth_settings().values():
                headers[credential["key"]] = credential["value"]
            for name, value in configuration.impersonation:
                # What is written as Latin-1 is read as UTF-8.
                headers.add(name, value.encode(errors="surrogatepass").decode("latin-1"))
            url = f"{configuration.host}{request.path}"
        if request.query:
            # What stands for a page is given back as it came, whatever it is.
            url += "?" + "&".join(
                f"{name}={quote(value, errors='surrogatepass')}" for name, value in request.query
            )
        return url, headers

    def _read(self) -> Configuration:
        self._configuration = self._credentials.load(again=self._configuration is not None)
        self._generation += 1
        self._renewed = self._clock()
        return self._configuration


class ApiConnection:
    """Requests of one thread, one at a time, over connections of its own."""

    def __init__(self, access: ApiAccess) -> None:
        self._access = access
        self._interruption = Interruption()
        self._deadline = ReadDeadline()
        self._generation = 0
        self._client: RESTClientObject | None = None

    def get(self, path: str, query: list[tuple[str, str]], accept: str = JSON) -> "ApiResponse":
        """Ask for *path*, as ``send`` does."""
        return self.send(ApiRequest("GET", path, tuple(query), accept=accept))

    def send(self, request: ApiRequest) -> "ApiResponse":
        """Send *request*; return the answer when its head is there and says success.

        Until then it takes no longer than connecting and one silence may together.

        The caller closes the answer.  Raises ``KubernetesError``.  Nothing is repeated: whether
        a write that failed was done all the same is for the caller to find out.
        """
        if self._interruption.is_interrupted:
            raise KubernetesError(0, BROKEN, "interrupted")
        client = self._present_client()
        try:
            url, headers = self._access.addressed(client, request)
        except PluginError as error:
            raise KubernetesError(0, NO_CREDENTIALS, error.message, aside=error.aside) from None
        except Exception as error:
            # The loaders of the package raise whatever an unreadable file or a bad plugin brings up.
            raise KubernetesError(0, NO_CREDENTIALS, _reason(error)) from None
        timeouts = request.timeouts or self._access.timeouts
        try:
            with self._deadline.within(sum(timeouts)):
                answer = client.request(
                    request.method, url, headers, request.body, _request_timeout=timeouts
                ).response
        except ReadTimeoutError:
            raise KubernetesError(0, UNREACHABLE, "no answer in time") from None
        except ApiException as error:
            # So the package says that TLS failed: the kubeconfig may have another authority by now.
            self.renew_credentials()
            raise KubernetesError(0, UNREACHABLE, _reason(error)) from None
        except Exception as error:
            # Apart from urllib3's errors: ValueError for a token with a line end.
            raise KubernetesError(0, UNREACHABLE, _reason(error)) from None
        response = ApiResponse(answer, self._deadline)
        if not 200 <= answer.status <= 299:
            refusal = response.refusal(request.path)
            trouble = self._access.trouble
            if refusal.status == HTTPStatus.UNAUTHORIZED and trouble is not None:
                message = f"{refusal.message}, and credentials cannot be loaded anew: {trouble.message}"
                seconds = refusal.retry_after_seconds
                raise KubernetesError(refusal.status, refusal.reason, message, seconds, trouble.aside)
            raise refusal
        return response

    def renew_credentials(self) -> None:
        """Ask for other credentials than those used last."""
        self._access.renew(self._generation)

    def interrupt(self) -> None:
        """Break off what is going on, now and for good.  Any thread."""
        self._interruption.interrupt()

    def close(self) -> None:
        """Close idle connections."""
        if self._client is not None:
            self._client.close()
            self._client = None
            self._generation = 0

    def _present_client(self) -> RESTClientObject:
        new = self._access.client(self._generation)
        if new is not None:
            self.close()
            self._generation, self._client = new
            self._client.pool_manager.pool_classes_by_scheme = pool_classes(
                self._interruption, self._deadline
            )
        assert self._client is not None, "load() comes before send()"
        return self._client


class ApiResponse:
    """The body of an answer, read in chunks as they arrive or as a whole."""

    def __init__(self, response: urllib3.HTTPResponse, deadline: ReadDeadline) -> None:
        self._response = response
        self._deadline = deadline

    @property
    def is_json(self) -> bool:
        """Whether the answer says of itself that it is JSON."""
        media_type = self._response.headers.get("Content-Type", "").partition(";")[0]
        return media_type.strip().lower() == JSON

    def within(self, seconds: float) -> AbstractContextManager[None]:
        """Have what is read inside take so many seconds at most, however steadily it comes; then it is ``Slow``."""
        return self._deadline.within(seconds)

    def read_chunk(self) -> bytes:
        """The bytes that are there, at least one; empty at the proper end.

        Raises ``KubernetesError`` with the reason ``Silent``, ``Slow`` or ``Broken``.
        """
        return self._read(lambda: self._response.read1(_CHUNK_BYTES))

    def read_all(self, seconds: float = 60.0) -> bytes:
        """The whole rest, which may take so long.  Raises ``KubernetesError``."""
        with self.within(seconds):
            return self._read(self._response.read)

    def refusal(self, path: str) -> KubernetesError:
        """Read the answer as the refusal of a request for *path*, and close it."""
        status: object
        try:
            with self.within(_REFUSAL_SECONDS):
                body = self._read(lambda: self._response.read(_CHUNK_BYTES))
            status = decoded(body)
        except (KubernetesError, ValueError):
            # Not in the words of an API server; its HTTP status has to do.
            status = None
        finally:
            self.close()
        is_missing = self._response.status == 404 and _names_object(status, path)
        if self._response.status == 404 and not is_missing:
            # What an API server says of a kind that it does not know is a Status, or plain text.
            status = {"reason": "NotFound", "message": f"it does not serve {path}, as Kubernetes 1.25 does"}
        error = error_from_status(
            status,
            self._response.status,
            self._response.reason or "",
            self._response.headers.get("Retry-After"),
        )
        return ObjectMissingError(error) if is_missing else error

    def close(self) -> None:
        """Close the connection, unless the answer was read to its end."""
        self._response.close()

    def _read(self, read: Callable[[], bytes]) -> bytes:
        try:
            return read()
        except ReadTimeoutError:
            left = self._deadline.left()
            if left is not None and left <= 0:
                raise KubernetesError(0, SLOW, "the answer is too slow") from None
            raise KubernetesError(0, SILENT, "no byte in time") from None
        except (HTTPError, OSError, http.client.HTTPException, ValueError) as error:
            raise KubernetesError(0, BROKEN, _reason(error, "the answer broke off")) from None


def _names_object(status: object, path: str) -> bool:
    """Whether *status* is about an object that *path* names: no page of something in between, and no kind that is not there."""
    details = status.get("details") if isinstance(status, dict) else None
    name = details.get("name") if isinstance(details, dict) else None
    return isinstance(name, str) and bool(name) and name in path.split("/")


def _reason(error: BaseException, otherwise: str = "") -> str:
    """Why a request failed, in words without addresses of Python objects.

    What the system or TLS says counts most; *otherwise* stands for what only a parser says.
    """
    innermost = error
    while (inner := innermost.__cause__ or innermost.__context__) is not None:
        innermost = inner
    if isinstance(innermost, OSError):
        text = getattr(innermost, "verify_message", None) or innermost.strerror or str(innermost)
        return one_line(f"{text}: {innermost.filename}" if innermost.filename else text)
    return otherwise or one_line(str(innermost)) or type(innermost).__name__
