"""A cluster of thousands of Ingresses as values, with a translation that follows it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ingress.cluster.store import Store
from ingress.identity.certificates import CHAIN_KEY, PRIVATE_KEY_KEY, TLS_SECRET_TYPE
from ingress.model.cluster.objects import (
    ClusterObject,
    EndpointSlice,
    Kind,
    ObjectId,
    ObjectKey,
    Projection,
    Secret,
    Service,
    ServicePort,
    SlicePort,
)
from ingress.translate.incremental import Translation
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import (
    Ingress,
    IngressBackend,
    IngressPath,
    IngressRule,
    IngressTLS,
    ServicePortReference,
)
from ingress.translate.snapshot import Snapshot

COUNT: Final = 10_000
HOSTS_OF_CERTIFICATE: Final = 10
_PREFIX: Final = "nginx.ingress.kubernetes.io/"
_BEGAN: Final = datetime(2026, 1, 1, tzinfo=UTC)


def host(number: int) -> str:
    """The host of Ingress *number*."""
    return f"app-{number}.example.com"


def _key(name: str, number: int) -> ObjectKey:
    return ObjectKey(f"team-{number % 100}", f"{name}-{number}")


def ingress(number: int, paths: int = 2, size: str = "8m") -> Ingress:
    """An Ingress as people have them, with so many *paths*."""
    backend = IngressBackend(f"app-{number}", ServicePortReference(number=80))
    rules = tuple(IngressPath(f"/api/{one}" if one else "/", "Prefix", backend) for one in range(paths))
    return Ingress(
        _key("app", number),
        created="2026-01-01T00:00:00Z",
        class_name="nginx",
        annotations={
            f"{_PREFIX}ssl-redirect": "true",
            f"{_PREFIX}proxy-body-size": size,
            f"{_PREFIX}proxy-read-timeout": "60",
        },
        rules=(IngressRule(host(number), rules),),
        tls=(IngressTLS((host(number),), _certificate_name(number)),),
    )


def service(number: int) -> Service:
    """Its Service."""
    return Service(_key("app", number), ports=(ServicePort("http", 80),))


def endpoint_slice(number: int, pods: int = 2, shift: int = 0) -> EndpointSlice:
    """The EndpointSlice of that; with another *shift* the pods are others."""
    key = _key("app", number)
    some = range(shift, shift + pods)
    addresses = tuple(f"10.{one & 255}.{number >> 8}.{number & 255}" for one in some)
    return EndpointSlice(key, key, ports=(SlicePort("http", 8080),), ready=addresses)


def _certificate_name(number: int) -> str:
    return f"certificate-{number // 100 // HOSTS_OF_CERTIFICATE}"


def secrets(count: int) -> Iterator[Secret]:
    """Yield the Secrets of so many Ingresses: each ten in a namespace share a certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    by_key: dict[ObjectKey, list[str]] = {}
    for number in range(count):
        name = ObjectKey(f"team-{number % 100}", _certificate_name(number))
        by_key.setdefault(name, []).append(host(number))
    for name, hosts in by_key.items():
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])])
        certificate = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(_BEGAN)
            .not_valid_after(_BEGAN + timedelta(days=3650))
            .add_extension(x509.SubjectAlternativeName(list(map(x509.DNSName, hosts))), critical=False)
            .sign(key, hashes.SHA256())
        )
        content = {
            CHAIN_KEY: certificate.public_bytes(serialization.Encoding.PEM),
            PRIVATE_KEY_KEY: private,
        }
        yield Secret(name, TLS_SECRET_TYPE, content)


class Cluster:
    """A store of *count* Ingresses with all that belongs to them, and a translation that is told of each change."""

    def __init__(self, count: int = COUNT) -> None:
        self._store = Store()
        self._options = TranslateOptions()
        self._tell([*secrets(count)])
        for number in range(count):
            self._tell([ingress(number), service(number), endpoint_slice(number)])
        self._translation = Translation(self._options)
        self._translation.mark_everything(self._store.state())
        self._round()

    @property
    def snapshot(self) -> Snapshot:
        """What is to be served now."""
        assert self._translation.snapshot is not None
        return self._translation.snapshot

    def _tell(self, objects: list[ClusterObject]) -> tuple[frozenset[ObjectId], frozenset[ObjectKey]]:
        changes = self._store.changed(
            {(Kind(type(one).__name__), one.key): Projection(one) for one in objects}
        )
        return frozenset(changes.objects), frozenset(changes.services)

    def change(self, *objects: ClusterObject) -> Snapshot:
        """Have *objects* be as they are; return what is to be served then."""
        changed, services = self._tell([*objects])
        self._translation.mark(changed)
        self._translation.endpoints_changed(services)
        while self._translation.awaits_endpoints:
            self._translation.refresh(self._store.state())
        if self._translation.is_marked:
            self._round()
        return self.snapshot

    def translated_anew(self) -> Snapshot:
        """Translate everything, as after another start or an option that concerns all of it."""
        self._translation = Translation(self._options)
        self._translation.mark_everything(self._store.state())
        self._round()
        return self.snapshot

    def _round(self) -> None:
        for _ in self._translation.round(self._store.state(), datetime.now(UTC)):
            pass
