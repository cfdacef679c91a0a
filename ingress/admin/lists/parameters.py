"""The parameters that several lists have."""

from typing import Final

from ingress.admin.parameters import Parameter

NAMESPACE: Final = Parameter("namespace", "Only what objects of this namespace ask for.", most=253)
HOST: Final = Parameter(
    "host",
    "Only what is for just this host; a wildcard as it is written (`*.example.com`), nothing for all hosts.",
    most=255,
)
