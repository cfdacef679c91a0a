"""What somebody expects of a request, and whether that is so: for CI."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ingress.ctl.errors import Mistake
from ingress.model.frozen import frozen

_SERVICE = re.compile(r"([a-z0-9][a-z0-9.-]*)/([a-z0-9][a-z0-9.-]*)(?::([A-Za-z0-9-]+))?")


@frozen
class Expected:
    """What is expected; None where it does not matter."""

    service: tuple[str, str, str] | None = None
    """Namespace, name and port of the Service that gets the request; an empty port is any."""
    status: int | None = None
    """Of an answer that no endpoint makes."""

    def differences(self, data: Mapping[str, Any]) -> Iterator[str]:
        """Yield what is otherwise by the explanation *data*, a sentence each."""
        outcome = data["outcome"]
        if self.status is not None and outcome["status"] != self.status:
            found = outcome["status"] or "what an endpoint says"
            yield f"expected status {self.status}, found {found}"
        if self.service is not None:
            namespace, name, port = self.service
            shown = f"{namespace}/{name}{f':{port}' if port else ''}"
            if outcome["end"] not in ("sent", "passed-through"):
                yield f"expected Service {shown}, and the request goes to none"
            elif not all(self._is_meant(one) for one in data["backends"]):
                found = ", ".join(one["backend"] for one in data["backends"])
                yield f"expected Service {shown}, found {found}"

    def _is_meant(self, backend: Mapping[str, Any]) -> bool:
        assert self.service is not None
        namespace, name, port = self.service
        is_same = (backend["kind"], backend["namespace"], backend["name"]) == ("Service", namespace, name)
        return is_same and port in ("", backend["port"])


def read_expected(service: str | None, status: int | None) -> Expected:
    """Read what was given for it; raises ``Mistake``."""
    if service is None:
        return Expected(None, status)
    found = _SERVICE.fullmatch(service)
    if found is None:
        raise Mistake(f"--expect-service {service!r} is no Service; write it like shop/cart or shop/cart:80")
    return Expected((found[1], found[2], found[3] or ""), status)
