"""Which CustomResourceDefinitions of the Gateway API there are, and of which version.

A cluster has the kinds of the Gateway API only where somebody installed them, in a bundle: all definitions of one have its
version and its channel in annotations.

Source: https://gateway-api.sigs.k8s.io/guides/implementers, and ``GatewayClassConditionStatusSupportedVersion``.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final, cast

from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.state import ClusterState
from ingress.model.frozen import frozen
from ingress.translate.readers.gateway.objects.names import DEFINITION

VERSION_ANNOTATION: Final = "gateway.networking.k8s.io/bundle-version"
CHANNEL_ANNOTATION: Final = "gateway.networking.k8s.io/channel"

SUPPORTED: Final = ("v1.6", "v1.7")
"""The versions of the bundle that this controller was made for, whatever their last number."""
CHANNELS: Final = ("standard", "experimental")

_MINOR: Final = re.compile(r"(v[0-9]{1,4}\.[0-9]{1,4})\.[0-9]{1,4}(-[0-9A-Za-z.-]{1,64})?", re.ASCII)


@frozen(weakref_slot=False)
class Definition:
    """A CustomResourceDefinition of the Gateway API; its name is ``PLURAL.GROUP``."""

    key: ObjectKey
    version: str | None = ""
    """The version of its bundle, such as ``v1.6.1``; empty where it does not say, None where nobody let us read it."""
    channel: str = ""
    """``standard`` or ``experimental``, or whatever else was written."""


def definitions_of(state: ClusterState) -> Mapping[ObjectKey, Definition]:
    """Return the definitions of *state*."""
    return cast("Mapping[ObjectKey, Definition]", state.of(DEFINITION))


def unsupported(definitions: Iterable[Definition]) -> str:
    """Say what of *definitions* is of another version or channel than is supported; empty when nothing is."""
    others = sorted({_said(one) for one in definitions if not _is_supported(one)})
    if not others:
        return ""
    found = ", ".join(others[:_MOST_NAMED])
    more = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
    return (
        f"the CustomResourceDefinitions in the cluster are of {found}{more}; supported are {' and '.join(SUPPORTED)},"
        f" channel {' or '.join(CHANNELS)}: what both know is served"
    )


_MOST_NAMED: Final = 4


def _is_supported(one: Definition) -> bool:
    if one.version is None:
        return True
    minor = _MINOR.fullmatch(one.version)
    return minor is not None and minor[1] in SUPPORTED and one.channel in CHANNELS


def _said(one: Definition) -> str:
    version = f"version {one.version}" if one.version else "no version"
    return f"{version}, channel {one.channel}" if one.channel else f"{version} and no channel"
