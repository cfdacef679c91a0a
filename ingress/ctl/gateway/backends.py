"""Backends of routes as references of the Gateway API, with what has to stand beside them: grants, and policies for TLS.

Sources: ``BackendObjectReference``, ``BackendTLSPolicy``, ``ReferenceGrant``.
"""

from collections.abc import Mapping
from typing import Final

from attrs import define, field

from ingress.ctl.gateway.listeners import is_hostname
from ingress.ctl.gateway.rendering_values import API_VERSION, Effect, Json, Remarks, meta
from ingress.model.cluster.objects import ObjectId, ObjectKey, Service
from ingress.model.upstream.backends import BackendReference
from ingress.model.upstream.upstream_tls import ProtocolAsked, ProtocolRefused, UpstreamTlsRequest
from ingress.translate.claims import INVALID_KIND, SERVICE_KIND
from ingress.translate.readers.gateway.objects.names import GROUP

_PORT_UNKNOWN: Final = (
    "the number of its port is not known, since its Service is not in the input; the Gateway API needs it"
)


@define
class Backends:
    """References to backends, and what they bring; *services* are those of the input."""

    services: Mapping[ObjectKey, Service]
    remarks: Remarks
    grants: set[tuple[str, str, str, str, str, str]] = field(factory=set)
    """Who may refer to what: group, kind and namespace of the one; kind, namespace and name of the other."""
    _tls: dict[tuple[ObjectKey, int], tuple[UpstreamTlsRequest, ObjectId]] = field(factory=dict)
    _clear: dict[tuple[ObjectKey, int], ObjectId] = field(factory=dict)

    def reference(
        self, backend: BackendReference, namespace: str, asking: ObjectId, kind: str
    ) -> Json | None:
        """Return the reference to *backend* from a route of *kind* in *namespace*; None, and a remark, where there is none."""
        found = self._plain(backend, asking)
        if found is None:
            return None
        if backend.namespace != namespace:
            found["namespace"] = backend.namespace
            self.grants.add(
                (
                    GROUP,
                    kind,
                    namespace,
                    str(found.get("kind", SERVICE_KIND)),
                    backend.namespace,
                    backend.name,
                )
            )
        if backend.kind == SERVICE_KIND:
            self._note_tls(backend, int(found["port"]), asking)
        return found

    def _plain(self, backend: BackendReference, asking: ObjectId) -> Json | None:
        shown = str(backend._replace(protocol=None, by_cluster_ip=None))
        if backend.kind == INVALID_KIND or not backend.name:
            self.remarks.add(
                asking, "backend", "it names no usable backend, and answers 503 today", Effect.CLOSED
            )
            return None
        if isinstance(backend.protocol, ProtocolRefused):
            self.remarks.add(
                asking, f"backend {shown}", f"it answers 503 today: {backend.protocol.why}", Effect.CLOSED
            )
            return None
        if isinstance(backend.protocol, ProtocolAsked) and backend.protocol.is_fastcgi:
            why = "it speaks FastCGI, which the Gateway API has no word for"
            self.remarks.add(asking, f"backend {shown}", why, Effect.CLOSED)
            return None
        if backend.kind != SERVICE_KIND:
            kind, _, group = backend.kind.partition(".")
            return {"group": group, "kind": kind, "name": backend.name}
        port = self._number(backend)
        if port is None:
            self.remarks.add(asking, f"backend {shown}", _PORT_UNKNOWN, Effect.CLOSED)
            return None
        return {"name": backend.name, "port": port}

    def _number(self, backend: BackendReference) -> int | None:
        if isinstance(backend.port, int):
            return backend.port
        service = self.services.get(ObjectKey(backend.namespace, backend.name))
        ports = () if service is None else service.ports
        return next((one.number for one in ports if backend.port in ("", one.name)), None)

    def _note_tls(self, backend: BackendReference, port: int, asking: ObjectId) -> None:
        where = ObjectKey(backend.namespace, backend.name), port
        asked = backend.protocol
        if not isinstance(asked, ProtocolAsked) or asked.tls is None:
            self._clear.setdefault(where, asking)
            return
        known, _ = self._tls.setdefault(where, (asked.tls, asking))
        if known != asked.tls:
            why = f"another Ingress asks for other TLS to {where[0]}:{port}; a BackendTLSPolicy holds for all who ask it"
            self.remarks.add(asking, "proxy-ssl", why, Effect.DIFFERS)

    def policies(self) -> list[Json]:
        """Return the policies by which backends are spoken to over TLS."""
        found = []
        for ((namespace, name), port), (request, asking) in sorted(
            self._tls.items(), key=lambda item: item[0]
        ):
            where = ObjectKey(namespace, name)
            if (where, port) in self._clear:
                why = f"others ask {where}:{port} in the clear; a BackendTLSPolicy holds for all who ask it"
                self.remarks.add(self._clear[where, port], "backend-protocol", why, Effect.DIFFERS)
            found.append(self._policy(where, port, request, asking))
        return found

    def _policy(self, where: ObjectKey, port: int, request: UpstreamTlsRequest, asking: ObjectId) -> Json:
        settings = request.tls_settings
        hostname = settings.name or f"{where.name}.{where.namespace}.svc"
        if not is_hostname(hostname):
            why = f"{hostname} is no hostname of the Gateway API; write one that the certificate is for"
            self.remarks.add(asking, "proxy-ssl-name", why, Effect.LEFT_OUT)
            hostname = f"{where.name}.{where.namespace}.svc".lower()
        validation: Json = {}
        if settings.verify and request.secret is not None:
            validation["caCertificateRefs"] = [{"group": "", "kind": "Secret", "name": request.secret.name}]
            why = (
                f"a Secret as authorities ({request.secret}) is up to the implementation; a ConfigMap is not"
            )
            self.remarks.add(asking, "proxy-ssl-secret", why, Effect.DIFFERS)
            if request.secret.namespace != where.namespace:
                why = f"Secret {request.secret} has to be in the namespace of Service {where}"
                self.remarks.add(asking, "proxy-ssl-secret", why, Effect.LEFT_OUT)
        else:
            validation["wellKnownCACertificates"] = "System"
            if not settings.verify:
                why = f"the certificates of {where} are not checked today; a BackendTLSPolicy always has them checked"
                self.remarks.add(asking, "backend-protocol", why, Effect.DIFFERS)
        validation["hostname"] = hostname
        target: Json = {"group": "", "kind": SERVICE_KIND, "name": where.name}
        service = self.services.get(where)
        section = next(
            (one.name for one in (() if service is None else service.ports) if one.number == port), ""
        )
        if section:
            target["sectionName"] = section
        return {
            "apiVersion": API_VERSION,
            "kind": "BackendTLSPolicy",
            "metadata": meta(f"{where.name}-{port}"[:253], where.namespace),
            "spec": {"targetRefs": [target], "validation": validation},
        }

    def reference_grants(self) -> list[Json]:
        """Return the grants for references from one namespace into another."""
        grouped: dict[tuple[str, str, str, str], list[Json]] = {}
        for group, kind, namespace, to_kind, to_namespace, name in sorted(self.grants):
            grouped.setdefault((to_namespace, group, kind, namespace), []).append(
                {"group": "", "kind": to_kind, "name": name}
            )
        return [
            {
                "apiVersion": API_VERSION,
                "kind": "ReferenceGrant",
                "metadata": meta(
                    f"{kind.lower()}-{namespace}{'' if at == 0 else f'-{at + 1}'}", to_namespace
                ),
                "spec": {
                    "from": [{"group": group, "kind": kind, "namespace": namespace}],
                    "to": to[at * 16 : at * 16 + 16],
                },
            }
            for (to_namespace, group, kind, namespace), to in sorted(grouped.items())
            for at in range((len(to) + 15) // 16)
        ]
