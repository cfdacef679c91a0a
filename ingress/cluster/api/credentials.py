"""Where the address and the credentials of the API server are found.

In this order: the kubeconfig that was named, the ones that ``KUBECONFIG`` names, the service
account of the pod we run in, ``~/.kube/config``, and a bare server URL without credentials.
Loading blocks, and may run a credential plugin; it belongs into a thread.

Error messages never quote a kubeconfig: it holds keys and tokens.
"""

import os
import re
import ssl
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, time
from typing import Any
from urllib.parse import urlsplit

from twisted.logger import Logger

from ingress.cluster.api.api_status import one_line
from ingress.cluster.api.credential_plugin import (
    PluginCredentials,
    PluginError,
    asks_plugin,
    run_plugin,
)
from ingress.cluster.api.kubeconfig_shape import (
    PROXY_EXAMPLE,
    KubeconfigError,
    KubeconfigFile,
    is_proxy,
    used_context,
)
from ingress.cluster.api.package_parts import (
    ConfigException,
    Configuration,
    InClusterConfigLoader,
    should_bypass_proxies,
)
from ingress.cluster.api.token_renewal import TokenRenewal
from ingress.errors import StartError
from ingress.model.frozen import frozen

log = Logger()

_NAMESPACE = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?")
_TOKEN_SECONDS = 60.0
"""How old the token of the pod may be before its file is read again."""
SERVICE_ACCOUNT_DIRECTORY = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class ApiConfiguration(Configuration):
    """A configuration of the package, and what that knows nothing of."""

    impersonation: tuple[tuple[str, str], ...] = ()
    """As in ``UsedContext``."""


@frozen
class CredentialSource:
    """What the operator said about the API server; None leaves it to the environment.

    *server* is a URL that replaces the configured one.  *environ* stands for ``os.environ``, *clock* returns monotonic seconds, *wall* those of the epoch.
    """

    kubeconfig: str | None = None
    context: str | None = None
    server: str | None = None
    environ: Mapping[str, str] = os.environ
    service_account_directory: Path = SERVICE_ACCOUNT_DIRECTORY
    clock: Callable[[], float] = monotonic
    wall: Callable[[], float] = time

    def load(self, *, again: bool = False) -> ApiConfiguration:
        """Load a configuration for requests; the log tells its origin unless it is loaded *again*.

        Raises ``StartError``.
        """
        configuration = ApiConfiguration()
        if self.server is not None:
            _check_url("--server", self.server)
        origin = self._fill(configuration)
        configuration.retries = False
        configuration.keep_alive = True
        _refine(configuration, self.server)
        _check_url(origin, configuration.host)
        _check_certificates(origin, configuration)
        _check_proxy(origin, configuration)
        if not again:
            log.info("API server {host}, {origin}", host=configuration.host, origin=origin)
            if proxy := proxy_of(configuration):
                log.info("the API server is reached through the proxy {proxy}", proxy=proxy)
            if configuration.impersonation:
                _, user = configuration.impersonation[0]
                log.info("the API server is asked as if by user {user} (as)", user=one_line(user))
        return configuration

    def namespace(self) -> str:
        """The namespace that we are in: by ``POD_NAMESPACE``, else by where the credentials come from.

        A service account says it in a file, a kubeconfig in its context; ``default`` when nobody does.
        """
        named = self.environ.get("POD_NAMESPACE", "")
        files = self._kubeconfig_files()
        try:
            if not named and files:
                named = used_context(_configs(files), self.context).namespace
            elif not named and self._is_in_pod():
                named = (self.service_account_directory / "namespace").read_text(encoding="utf-8").strip()
        except (StartError, KubeconfigError, OSError, UnicodeError) as error:
            log.warn("the namespace we are in cannot be read: {reason}", reason=str(error))
        return named if _NAMESPACE.fullmatch(named) else "default"

    def _kubeconfig_files(self) -> str:
        """The kubeconfig to use, several with colons between them; empty for none."""
        files = self.kubeconfig or self.environ.get("KUBECONFIG")
        home = self.environ.get("HOME")
        if files or self._is_in_pod() or not home:
            return files or ""
        at_home = Path(home) / ".kube" / "config"
        return str(at_home) if at_home.is_file() else ""

    def _is_in_pod(self) -> bool:
        return self.context is None and bool(self.environ.get("KUBERNETES_SERVICE_HOST"))

    def _fill(self, configuration: ApiConfiguration) -> str:
        """Load from the first place that there is; return what to call it."""
        files = self._kubeconfig_files()
        if files:
            return self._fill_from_kubeconfig(configuration, files)
        if self._is_in_pod():
            return self._fill_from_service_account(configuration)
        if self.server is not None and self.context is None:
            configuration.host = self.server
            return "without credentials"
        raise StartError(
            "no API server to read from: name a kubeconfig by --kubeconfig or KUBECONFIG, run in a pod with a service account,"
            " or read manifests instead"
        )

    def _fill_from_kubeconfig(self, configuration: ApiConfiguration, files: str) -> str:
        # Here, in a thread that waits for it: it brings all of the package (package_parts).
        from kubernetes.config import load_kube_config_from_dict

        origin = f"kubeconfig {files}"
        configs = _configs(files)
        if not configs:
            raise StartError(f"{origin}: {_none_of(files)}")
        # The package's default, which must not be taken for an address that the file gives.
        configuration.host = ""
        try:
            used = used_context(configs, self.context)
            config = used.config
            run = self._plugin_of(config)
            plugged = None
            if run is not None:
                plugged = run()
                config["users"][0]["user"] = plugged.stand_in(config["users"][0]["user"])
            load_kube_config_from_dict(config, client_configuration=configuration, persist_config=False)
            configuration.impersonation = used.impersonation
            if "auth-provider" in config["users"][0]["user"] and not configuration.api_key.get("BearerToken"):
                # The package goes on as nobody.
                raise KubeconfigError("the auth-provider of the user has no token that can be used")
            if run is not None and plugged is not None and plugged.token:
                TokenRenewal(plugged, run, self.wall, self.clock).keep(configuration)
        except KubeconfigError as error:
            raise StartError(f"{origin}: {error}") from None
        except PluginError as error:
            raise StartError(f"{origin}: {error.message}", error.aside) from None
        except OSError as error:
            raise _unreadable(origin, error) from None
        except ConfigException as error:
            # What follows " in " is a path within the file, and that quotes whole entries.
            raise StartError(f"{origin}: {one_line(str(error).split(' in ', 1)[0])}") from None
        except Exception as error:
            # The loader trusts the shape of what nobody judged before it, which is what stands below auth-provider.
            what = "not the shape of a kubeconfig, or of its auth-provider"
            raise StartError(f"{origin}: {what} ({type(error).__name__})") from None
        return f"{origin}, context {self.context}" if self.context else origin

    def _plugin_of(self, config: dict[str, Any]) -> Callable[[], PluginCredentials] | None:
        """Return what runs the plugin that *config*, with one user and one cluster, asks for; None where it asks none."""
        user, cluster = config["users"][0]["user"], config["clusters"][0]["cluster"]
        if not asks_plugin(user):
            return None
        if self.server is not None:
            # It may have credentials for the one that is asked alone.
            cluster = {**cluster, "server": _host(self.server)}
        # The environment of the process, as kubectl does it: what stands for that in tests has no PATH.
        return partial(run_plugin, user["exec"], cluster)

    def _fill_from_service_account(self, configuration: Configuration) -> str:
        token = self.service_account_directory / "token"
        authority = self.service_account_directory / "ca.crt"
        try:
            _keep_reading(token, configuration, self.clock)
            InClusterConfigLoader(str(token), str(authority), False, self.environ).load_and_set(configuration)
        except (ConfigException, OSError) as error:
            raise StartError(f"service account of the pod: {one_line(str(error))}") from None
        except UnicodeError:
            raise StartError(f"service account of the pod: {authority} is not UTF-8") from None
        return "service account of the pod"


def _keep_reading(file: Path, configuration: Any, clock: Callable[[], float]) -> None:
    """Read the token in *file*, and have *configuration* read it again once it is old; one that cannot be read leaves the last one in use.

    That is good for most of an hour still, and no file can be opened where a process has as many as it may.  The hook of the package goes by the time of day: a clock that is set back by hours has it keep a token until that has expired.
    """
    token = _token_in(file)
    read_at = clock()

    def refresh(configuration: Any) -> None:
        nonlocal token, read_at
        if clock() - read_at >= _TOKEN_SECONDS:
            read_at = clock()
            try:
                token = _token_in(file)
            except (ConfigException, OSError) as error:
                log.warn("the last token stays in use: {reason}", reason=one_line(str(error)))
        configuration.api_key["BearerToken"] = f"bearer {token}"

    configuration.refresh_api_key_hook = refresh


def _token_in(file: Path) -> str:
    """Return the token in *file*.  Raises ``ConfigException`` and ``OSError``."""
    try:
        token = file.read_text(encoding="utf-8").strip()
    except UnicodeError:
        raise ConfigException(f"{file} is not UTF-8") from None
    if not token:
        raise ConfigException(f"{file} has no token in it")
    return token


def _configs(files: str) -> list[KubeconfigFile]:
    """Return those of *files* that are there.  Raises ``StartError``."""
    import yaml  # of which a process in a pod reads none

    # That of C is ten times as fast, and such a file may have thousands of lines.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: list[KubeconfigFile] = []
    for file in files.split(os.pathsep):
        path = Path(file).expanduser()
        if not file or not path.is_file():
            continue
        try:
            content = yaml.load(path.read_text(encoding="utf-8"), loader)
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f" in line {mark.line + 1}" if mark is not None else ""
            is_second = getattr(error, "context", None) == "expected a single document in the stream"
            what = "another document begins" if is_second else "not YAML"
            raise StartError(f"kubeconfig {file}: {what}{where}") from None
        except UnicodeError:
            raise StartError(f"kubeconfig {file}: not UTF-8") from None
        except OSError as error:
            raise _unreadable(f"kubeconfig {file}", error) from None
        except RecursionError:
            raise StartError(f"kubeconfig {file}: it is nested too deeply") from None
        except ValueError:
            # Of a date that there is not, or a number of thousands of digits.
            raise StartError(f"kubeconfig {file}: it has a value that cannot be read") from None
        found.append(KubeconfigFile(file, str(path.absolute().parent), content))
    return found


def _none_of(files: str) -> str:
    """Return why there is nothing to read in *files*."""
    if any(Path(file).expanduser().exists() for file in files.split(os.pathsep) if file):
        return "it is no file"
    return "no such file"


def _unreadable(origin: str, error: OSError) -> StartError:
    file = f" {error.filename}" if error.filename and error.filename not in origin else ""
    return StartError(f"{origin}: {error.strerror or 'cannot be read'}{file}")


def _check_certificates(origin: str, configuration: Configuration) -> None:
    """Raise ``StartError`` where a handshake with an API server could only fail, by files that *configuration* names."""
    if not configuration.host.lower().startswith("https:"):
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if configuration.verify_ssl and configuration.ssl_ca_cert:
        try:
            context.load_verify_locations(configuration.ssl_ca_cert)
        except ssl.SSLError:
            raise StartError(f"{origin}: the certificate-authority of the cluster is no PEM") from None
        except OSError as error:
            raise _unreadable(origin, error) from None
    if configuration.cert_file:
        try:
            # With a password nobody is asked for one at a terminal.
            context.load_cert_chain(configuration.cert_file, configuration.key_file, password="")
        except ssl.SSLError as error:
            raise StartError(f"{origin}: {_unusable(configuration, error)}") from None
        except OSError as error:
            raise _unreadable(origin, error) from None


def _unusable(configuration: Configuration, error: ssl.SSLError) -> str:
    if not configuration.key_file:
        return "the user has a client-certificate, and no client-key"
    if error.reason == "KEY_VALUES_MISMATCH":
        return "the client-key of the user is not that of the client-certificate"
    return "the client-certificate or the client-key of the user is no PEM, or has a password"


def _refine(configuration: Configuration, server: str | None) -> None:
    """Make *server*, and a token without a line end, hold against the loaders.

    A loader leaves a hook that writes its address and token into the configuration before
    each request, and that puts itself back in place; so ours does the same behind it.
    """
    loaders_hook: Callable[[Any], None] | None = configuration.refresh_api_key_hook

    def refine(configuration: Any) -> None:
        if loaders_hook is not None:
            loaders_hook(configuration)
            configuration.refresh_api_key_hook = refine
        if server is not None:
            configuration.host = _host(server)
        token = configuration.api_key.get("BearerToken")
        if token is not None:
            configuration.api_key["BearerToken"] = token.strip()

    refine(configuration)


def _host(server: str) -> str:
    """Return *server* as the package has addresses: paths are put behind it."""
    return server.rstrip("/")


def _check_url(origin: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise StartError(f"{origin}: {one_line(url)} is not an http or https URL")


def _check_proxy(origin: str, configuration: Configuration) -> None:
    """Raise ``StartError`` where the API server is reached through a proxy that cannot be spoken to."""
    proxy = _proxy_in_use(configuration)
    if not proxy:
        return
    if not is_proxy(proxy):
        raise StartError(
            f"{origin}: the proxy that the environment names, by HTTPS_PROXY or HTTP_PROXY, is no URL of one, {PROXY_EXAMPLE}"
        )
    if urlsplit(proxy).scheme.startswith("socks") and not find_spec("socks"):
        raise StartError(
            f"{origin}: its proxy is one of SOCKS, for which the Python package PySocks is missing"
        )


def proxy_of(configuration: Configuration) -> str:
    """Return the proxy through which the API server is asked, without its password; empty for none.

    The environment may have named it.
    """
    return one_line(urlsplit(_proxy_in_use(configuration)).netloc.rpartition("@")[2])


def _proxy_in_use(configuration: Configuration) -> str:
    proxy = configuration.proxy or ""
    return "" if should_bypass_proxies(configuration.host, configuration.no_proxy or "") else proxy
