"""The webhook's own certificate, as the operator is told of it: an API server that refuses it says so to nobody who would look there.

What is wrong with it is a problem of the process; when it ends stands among the ends of all others.  Whom the API server trusts
(``caBundle``) is not known here.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final

from cryptography import x509
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall

from ingress.admission.key_files import KeyFiles
from ingress.annotations.contract.values import quoted
from ingress.identity.certificates import Certificate
from ingress.model.cluster.objects import Kind
from ingress.model.cluster.problems import Problem, Reason

LOOK_SECONDS: Final = 60.0
_SHOWN_NAMES: Final = 5


class OwnCertificate:
    """Looks every minute at what *files* has and is good for, and *tell*s what is wrong with it, once that is something else.

    *now* returns the time with its zone.  *namespace* is that of the Service by which API servers ask; empty where it is not known.
    """

    def __init__(
        self,
        files: KeyFiles,
        namespace: str,
        now: Callable[[], datetime],
        clock: IReactorTime,
        tell: Callable[[tuple[Problem, ...]], None],
    ) -> None:
        self._files = files
        self._namespace = namespace
        self._now = now
        self._tell = tell
        self._told: tuple[Problem, ...] = ()
        self._loop = LoopingCall(self._look)
        self._loop.clock = clock

    def start(self) -> None:
        """Look now, and every minute from now on."""
        self._loop.start(LOOK_SECONDS)

    def stop(self) -> None:
        """Look no more."""
        if self._loop.running:
            self._loop.stop()

    def shown(self) -> Iterator[tuple[str, Certificate]]:
        """Yield the certificate that is in use, if there is one, with the first of its names."""
        certificate = self._files.certificate
        if certificate is not None:
            yield (certificate.names or ("",))[0], certificate

    def _look(self) -> None:
        self._files.look()
        problems = own_problems(self._files.certificate, self._files.trouble, self._namespace, self._now())
        if problems != self._told:
            self._told = problems
            self._tell(problems)


def own_problems(
    certificate: Certificate | None, trouble: str, namespace: str, now: datetime
) -> tuple[Problem, ...]:
    """Return why API servers would refuse the *certificate* in use, and the *trouble* with its files, if there is some.

    An API server asks for a Service as ``NAME.NAMESPACE.svc``, which has to be among the DNS names of the certificate; the common name is not
    read (``clientConfig`` of ``admissionregistration.k8s.io/v1``, and Go's ``x509.Certificate.VerifyHostname``).
    """
    problems = []
    if trouble:
        problems.append(_problem(Reason.INVALID_CERTIFICATE, trouble))
    if certificate is None:
        return tuple(problems)
    file = certificate.secret.name
    if not certificate.is_valid_at(now):
        begins = now < certificate.not_before
        reason = Reason.CERTIFICATE_NOT_YET_VALID if begins else Reason.CERTIFICATE_EXPIRED
        verb, when = (
            ("is valid from", certificate.not_before) if begins else ("ended at", certificate.not_after)
        )
        problems.append(
            _problem(
                reason,
                f"the certificate in {file} {verb} {when:%Y-%m-%dT%H:%M:%SZ}; API servers refuse it, so nobody is warned",
            )
        )
    names = _dns_names(certificate)
    if namespace and not any(_is_of_service(name, namespace) for name in names):
        shown = ", ".join(quoted(name) for name in names[:_SHOWN_NAMES]) or "no DNS name"
        more = ", …" if len(names) > _SHOWN_NAMES else ""
        problems.append(
            _problem(
                Reason.CERTIFICATE_NAME_MISMATCH,
                f"the certificate in {file} is for {shown}{more}, and API servers ask a Service here as SERVICE.{namespace}.svc: "
                "they refuse it, so nobody is warned",
            )
        )
    return tuple(problems)


def _problem(reason: Reason, message: str) -> Problem:
    return Problem(Kind.PROCESS, "", "admission", reason, message)


def _dns_names(certificate: Certificate) -> tuple[str, ...]:
    leaf = x509.load_pem_x509_certificates(certificate.chain_pem)[0]
    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    return tuple(name.lower().removesuffix(".") for name in names.get_values_for_type(x509.DNSName))


def _is_of_service(name: str, namespace: str) -> bool:
    first, _, rest = name.partition(".")
    return bool(first) and rest == f"{namespace}.svc"
