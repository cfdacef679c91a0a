"""The options about where objects come from: an API server, or manifests on disk."""

from typing import ClassVar

from twisted.python import usage

from ingress.cli import option_values
from ingress.cli.option_rows import RepeatableOptions, parameter
from ingress.settings import Settings

GROUPS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "Objects from an API server",
        (
            ("kubeconfig", "FILE"),
            ("context", "NAME"),
            ("server", "URL"),
            ("namespace", "NAME"),
            ("secret-mode", "MODE"),
            ("secret-field-selector", "SELECTOR"),
        ),
    ),
    (
        "Objects from manifests",
        (("manifests", "PATH"), ("endpoint", f"{option_values.SERVICE_FORM}=HOST:PORT")),
    ),
)
"""Titles and options, in the order in which they are shown."""

_DEFAULTS = Settings()


class SourceOptions(RepeatableOptions):
    """Without any of these, the service account of the pod is used."""

    repeatables: ClassVar[tuple[str, ...]] = ("namespace", "manifests", "endpoint")

    optParameters: ClassVar[list[list[object]]] = [  # noqa: N815 - Twisted's name
        parameter("kubeconfig", None, "Kubeconfig file that names the API server and the credentials.", option_values.read_existing_path),
        parameter("context", None, "Context of the kubeconfig to use instead of its current one.", option_values.read_word),
        parameter("server", None, "URL of the API server, instead of the kubeconfig's.", option_values.read_url),
        parameter(
            "secret-mode",
            "watch",
            "How Secrets are read: watch (list and watch them, keep those referred to) or get (ask for these by name).",
            option_values.read_secret_mode,
        ),
        parameter(
            "secret-field-selector",
            _DEFAULTS.secret_field_selector,
            "Which Secrets to watch; empty for all. Others are read by name when referred to.",
            option_values.read_field_selector,
        ),
    ]  # fmt: skip

    def opt_namespace(self, text: str) -> None:
        """Namespace to read; without it, all of them."""
        self._add("namespace", option_values.read_namespace, text)

    def opt_manifests(self, text: str) -> None:
        """YAML file, or directory of them, to read and follow instead of an API server."""
        self._add("manifests", option_values.read_existing_path, text)

    def opt_endpoint(self, text: str) -> None:
        """Where a Service of the manifests runs if no EndpointSlice says so; *=HOST:PORT is for any Service."""
        self._add("endpoint", option_values.read_manual_endpoint, text)

    def postOptions(self) -> None:
        """Refuse options that contradict each other."""
        super().postOptions()
        if self._repeated["manifests"]:
            for name in ("kubeconfig", "context", "server"):
                if self[name] is not None:
                    raise usage.UsageError(f"--manifests and --{name} exclude each other")
        elif self._repeated["endpoint"]:
            raise usage.UsageError("--endpoint is only for --manifests")
