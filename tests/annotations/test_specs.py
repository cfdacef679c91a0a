"""What annotations and routes of the Gateway API ask for, as specs and as live filters."""

from collections.abc import Iterator
from copy import copy
from importlib import import_module
from inspect import isclass
from pkgutil import walk_packages

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress import annotations, gateway_filters
from ingress.annotations.access.address_ranges import AddressRanges, parse_ranges
from ingress.annotations.access.blocking import Blocking
from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.access.satisfy import AnyOf
from ingress.annotations.answers.answer_rates import AnswerRate
from ingress.annotations.answers.answer_rewrites import CookieRewrite, LocationRewrite, Original, Replacing
from ingress.annotations.answers.compression import TYPES, Coding, Compression
from ingress.annotations.answers.configured_fields import (
    AnswerFields,
    HiddenFields,
    RenderedFields,
    RequestFields,
)
from ingress.annotations.answers.cors import EVERYBODY, CorsFields, CorsPreflight, Origins
from ingress.annotations.answers.custom_errors import CustomErrors, StandingIn
from ingress.annotations.client_certificates.check import (
    ClientCertificateFields,
    ClientCheck,
    EarlyCheck,
    HostClosed,
)
from ingress.annotations.contract.asked_urls import parse_url_template
from ingress.annotations.contract.host_facts import CertifiedHosts
from ingress.annotations.external_auth.check import ExternalAuth
from ingress.annotations.firewall.answers import InspectAnswers
from ingress.annotations.firewall.filters import InspectRequests
from ingress.annotations.hosts.further_hosts import HostRedirect
from ingress.annotations.hosts.passthrough import NotTerminatedHere
from ingress.annotations.hosts.transport_security import TransportSecurity
from ingress.annotations.nginx.reading import Place, parse_snippet
from ingress.annotations.observability.tracing import TracedRoute
from ingress.annotations.operator_filters import OperatorFilter
from ingress.annotations.passwords.basic_check import CredentialsKept, PasswordCheck
from ingress.annotations.passwords.digest_check import DigestCheck
from ingress.annotations.passwords.signing_in import OrSignIn
from ingress.annotations.rate_limits.family import Clients, ConnectionLimit, RequestLimit
from ingress.annotations.redirects.https_redirect import HttpsRedirect
from ingress.annotations.redirects.slash_redirect import SlashRedirect
from ingress.annotations.redirects.url_redirects import AppRoot, UrlRedirect
from ingress.annotations.requests.buffers import RequestBuffering
from ingress.annotations.requests.mirrors import Mirror
from ingress.annotations.requests.path_rewrites import (
    PathRewrite,
    RegexMissing,
    RewriteMissing,
    RewriteRedirect,
)
from ingress.annotations.requests.rewrite_targets import parse_rewrite_target
from ingress.annotations.requests.upstream_requests import (
    CapturedPrefix,
    ForwardedPrefix,
    OriginalUri,
    UpstreamHost,
)
from ingress.annotations.snippets.ending import UnlessEnded
from ingress.annotations.snippets.filters import (
    AuthVariables,
    PathCaptures,
    PathStatements,
    ServerStatements,
    SnippetAccess,
    SnippetAnswers,
    SnippetEdits,
)
from ingress.annotations.snippets.levels import Layers
from ingress.annotations.upstream.affinity import SessionCookie
from ingress.annotations.upstream.fastcgi import FastCgiClosed, FastCgiParams
from ingress.filters import Filter, FilterSpec, Hook, Phase, used_hooks
from ingress.gateway_filters.cross_origin import AllowedOrigins, CrossOrigin, RouteCrossOrigin, RoutePreflight
from ingress.gateway_filters.field_edits import AnswerFieldEdits, FieldEdits, RequestFieldEdits
from ingress.gateway_filters.mirrors import BackendMirror
from ingress.gateway_filters.redirects import RouteRedirect
from ingress.gateway_filters.refusals import Refusal
from ingress.gateway_filters.rewrites import RouteRewrite
from ingress.model.exchanges.firewall import RuleSet
from ingress.model.observability.tracing_settings import RouteTracing
from ingress.model.requests.client_authentication import NO_EVIDENCE, ClientAuthentication
from ingress.model.requests.templates import read_template
from ingress.model.upstream.affinity import Affinity
from ingress.model.upstream.backends import BackendReference
from ingress.proxy.exchange.filtering.chain import live_filter
from tests.annotations.client_certificates.test_check import shown
from tests.fakes.filter_parts import FakeEdit, FakeFacts, FakeServices

AUTHENTICATION = ClientAuthentication("Secret demo/ca", b"authorities")
SOME = Origins(exact=frozenset({b"https://a.test"}))
REPLACING = Replacing(Original(read_template("/a")), read_template("/$host"))
SERVER = parse_snippet("return 403; location /a { return 404; }", Place.SERVER)
HERE = parse_snippet(
    "if ($host) { break; } allow 10.0.0.1; deny all; proxy_set_header X $host; add_header Y $host; expires 1h;",
    Place.LOCATION,
)
LAYERS = Layers(here=HERE.block.level)
ROUTES_ORIGINS = CrossOrigin(AllowedOrigins(True))
ROUTES_FIELDS = FieldEdits(drop=(b"x-old",))
SPECS: tuple[tuple[FilterSpec, Phase, Hook], ...] = (
    (NotTerminatedHere(), Phase.SERVER, Hook.REQUEST),
    (UrlRedirect(read_template("https://b.test")), Phase.REDIRECT, Hook.REQUEST),
    (AppRoot(b"/app"), Phase.SERVER, Hook.REQUEST),
    (UpstreamHost(read_template("b.test")), Phase.EDITS, Hook.UPSTREAM),
    (ForwardedPrefix(b"/app"), Phase.EDITS, Hook.UPSTREAM),
    (CapturedPrefix("/(.*)", parse_rewrite_target("/$1")), Phase.EDITS, Hook.UPSTREAM),
    (OriginalUri(), Phase.EDITS, Hook.UPSTREAM),
    (FastCgiClosed(), Phase.EDITS, Hook.REQUEST),
    (Blocking(("crawler",), ("~spam",)), Phase.ACCESS, Hook.REQUEST),
    (CookieRewrite(None, REPLACING), Phase.ANSWER, Hook.ANSWER),
    (LocationRewrite(REPLACING), Phase.ANSWER, Hook.ANSWER),
    (HostRedirect(b"b.test"), Phase.SERVER, Hook.REQUEST),
    (HttpsRedirect(), Phase.REDIRECT, Hook.REQUEST),
    (ServerStatements(SERVER.block, SERVER.locations, b"/"), Phase.SERVER, Hook.REQUEST),
    (PathStatements(HERE.block), Phase.REWRITE, Hook.REQUEST),
    (CorsPreflight(SOME), Phase.PREFLIGHT, Hook.REQUEST),
    (ClientCheck(AUTHENTICATION), Phase.ACCESS, Hook.REQUEST),
    (HostClosed(), Phase.ACCESS, Hook.REQUEST),
    (EarlyCheck(HostClosed()), Phase.HANDSHAKE, Hook.REQUEST),
    (GuardMissing(), Phase.ACCESS, Hook.REQUEST),
    (SlashRedirect(b"/a/"), Phase.REDIRECT, Hook.REQUEST),
    (RegexMissing(), Phase.ACCESS, Hook.REQUEST),
    (RewriteMissing(), Phase.ACCESS, Hook.REQUEST),
    (PathRewrite("/(.*)", parse_rewrite_target("/a/$1")), Phase.REWRITE, Hook.UPSTREAM),
    (RewriteRedirect("/(.*)", parse_rewrite_target("https://a.test/$1")), Phase.REDIRECT, Hook.REQUEST),
    (UnlessEnded(UrlRedirect(read_template("/a"))), Phase.REDIRECT, Hook.REQUEST),
    (UnlessEnded(PathRewrite("", parse_rewrite_target("/a"))), Phase.REWRITE, Hook.UPSTREAM),
    (AddressRanges(parse_ranges("10.0.0.0/8")), Phase.ACCESS, Hook.REQUEST),
    (PasswordCheck(b"bob:{PLAIN}x"), Phase.ACCESS, Hook.REQUEST),
    (DigestCheck(b"bob:r:" + b"0" * 32, "r"), Phase.ACCESS, Hook.REQUEST),
    (OrSignIn(PasswordCheck(b"bob:{PLAIN}x"), read_template("/a")), Phase.ACCESS, Hook.REQUEST),
    (
        AnyOf((AddressRanges(parse_ranges("10.0.0.0/8")), PasswordCheck(b"bob:{PLAIN}x"))),
        Phase.ACCESS,
        Hook.REQUEST,
    ),
    (CredentialsKept(), Phase.EDITS, Hook.UPSTREAM),
    (RequestLimit("Ingress demo/a", 5), Phase.LIMITS, Hook.REQUEST),
    (AnswerRate(1024), Phase.LIMITS, Hook.ANSWER_BODY),
    (SnippetAccess(LAYERS), Phase.ACCESS, Hook.REQUEST),
    (SnippetEdits(LAYERS), Phase.EDITS, Hook.UPSTREAM),
    (SnippetAnswers(LAYERS), Phase.ANSWER, Hook.ANSWER),
    (ClientCertificateFields(), Phase.EDITS, Hook.UPSTREAM),
    (RequestBuffering(1024), Phase.EDITS, Hook.REQUEST),
    (StandingIn(), Phase.EDITS, Hook.UPSTREAM),
    (CustomErrors((404,)), Phase.ANSWER, Hook.ANSWER),
    (TransportSecurity(b"max-age=1"), Phase.ANSWER, Hook.ANSWER),
    (AnswerFields(((b"X-Team", b"blue"),), (b"X-Old",)), Phase.ANSWER, Hook.ANSWER),
    (RenderedFields(((b"X-Id", read_template("$request_id")),)), Phase.ANSWER, Hook.ANSWER),
    (HiddenFields((b"x-powered-by",)), Phase.ANSWER, Hook.ANSWER),
    (RequestFields(((b"X-Id", read_template("$request_id")),)), Phase.EDITS, Hook.UPSTREAM),
    (CorsFields(SOME, ()), Phase.ANSWER, Hook.ANSWER),
    (SessionCookie(Affinity(b"route")), Phase.ANSWER, Hook.ANSWER),
    (PathCaptures("/(a)", ("1",)), Phase.REWRITE, Hook.REQUEST),
    (AuthVariables(LAYERS), Phase.EDITS, Hook.REQUEST),
    (OperatorFilter("of-ours", "", HttpsRedirect()), Phase.REDIRECT, Hook.REQUEST),
    (RouteRedirect(hostname=b"b.test"), Phase.REDIRECT, Hook.REQUEST),
    (RouteRewrite(hostname=b"b.test"), Phase.REWRITE, Hook.UPSTREAM),
    (Refusal("nothing is honored"), Phase.SERVER, Hook.REQUEST),
    (RoutePreflight(ROUTES_ORIGINS), Phase.PREFLIGHT, Hook.REQUEST),
    (RouteCrossOrigin(ROUTES_ORIGINS), Phase.ANSWER, Hook.ANSWER),
    (RequestFieldEdits(ROUTES_FIELDS), Phase.EDITS, Hook.UPSTREAM),
    (AnswerFieldEdits(ROUTES_FIELDS), Phase.ANSWER, Hook.ANSWER),
)
"""All that have one hook, each with its phase and that hook."""
ASKS = ExternalAuth(parse_url_template("http://auth.test/"))
OTHERS: tuple[tuple[FilterSpec, Phase, frozenset[Hook]], ...] = (
    (ASKS, Phase.ACCESS, frozenset((Hook.REQUEST, Hook.ANSWER))),
    (
        evolve(ASKS, response_headers=("X-User",)),
        Phase.ACCESS,
        frozenset((Hook.REQUEST, Hook.UPSTREAM, Hook.ANSWER)),
    ),
    (Mirror("http://b.test"), Phase.EDITS, frozenset((Hook.REQUEST, Hook.REQUEST_BODY))),
    (
        BackendMirror(BackendReference("demo", "copy", 80)),
        Phase.EDITS,
        frozenset((Hook.REQUEST, Hook.REQUEST_BODY)),
    ),
    (FastCgiParams("index.php"), Phase.EDITS, frozenset((Hook.REQUEST, Hook.UPSTREAM))),
    (TracedRoute(RouteTracing(True)), Phase.EDITS, frozenset()),
    (ConnectionLimit("Ingress demo/a", 5), Phase.LIMITS, frozenset((Hook.REQUEST, Hook.END))),
    (InspectRequests(RuleSet(("SecRuleEngine On",))), Phase.ACCESS, frozenset((Hook.REQUEST,))),
    (
        InspectAnswers(RuleSet(("SecRuleEngine On",), may_refuse=True)),
        Phase.ANSWER,
        frozenset((Hook.ANSWER, Hook.END)),
    ),
    (
        InspectAnswers(RuleSet(("SecRuleEngine DetectionOnly",))),
        Phase.ANSWER,
        frozenset((Hook.ANSWER, Hook.ANSWER_BODY, Hook.END)),
    ),
    (Compression((Coding("gzip", 1, TYPES, 256),)), Phase.CODING, frozenset((Hook.ANSWER, Hook.ANSWER_BODY))),
)
"""Those that have several, or none."""


def spec_classes() -> Iterator[type]:
    """Yield the classes of specs that annotations and routes of the Gateway API may ask for."""
    for package in (annotations, gateway_filters):
        for found in walk_packages(package.__path__, f"{package.__name__}."):
            for one in vars(import_module(found.name)).values():
                is_spec = isclass(one) and all(hasattr(one, name) for name in ("phase", "describe", "make"))
                if is_spec and one.__module__ == found.name:
                    yield one


def live(spec: FilterSpec) -> Filter:
    """Return the filter of *spec*."""
    return spec.make(FakeServices())


def answer(spec: FilterSpec, facts: FakeFacts, edit: FakeEdit) -> None:
    """Have the filter of *spec* see an answer."""
    on_answer = live_filter("test", live(spec)).on_answer
    assert on_answer is not None
    on_answer(facts, edit)


def hooks_of(spec: FilterSpec) -> frozenset[Hook]:
    """Return what the filter of *spec* is called for, or says beforehand."""
    made = live(spec)
    return used_hooks(made) | ({Hook.ANSWER} if made.answer_changes is not None else set())


class SpecTests(SynchronousTestCase):
    """What all of them have in common."""

    def test_all(self) -> None:
        """Each class of the two packages that a filter is made of has a row."""
        rows = {type(spec) for spec, *_ in (*SPECS, *OTHERS)}
        self.assertEqual([spec.__name__ for spec in spec_classes() if spec not in rows], [])

    def test_phases_and_hooks(self) -> None:
        """Each stands where nginx would do it, and its filter is called for nothing else."""
        for spec, phase, hook in SPECS:
            self.assertEqual((spec.phase, hooks_of(spec)), (phase, {hook}), spec.name)
        for spec, phase, hooks in OTHERS:
            self.assertEqual((spec.phase, hooks_of(spec)), (phase, hooks), spec.name)

    def test_sentences(self) -> None:
        """Each describes itself in one line, in words and without the name of a class."""
        for spec in (*(spec for spec, _, _ in SPECS), *(spec for spec, _, _ in OTHERS)):
            said = spec.describe()
            self.assertTrue(said.isprintable() and " " in said and not said.endswith("."), said)
            self.assertNotIn(type(spec).__name__, said)
            self.assertNotRegex(said, r"\b1 \w+s\b", "several of one")

    def test_names(self) -> None:
        """No two are called the same, but for one that does what another does, and the halves of the firewall; names can stand in logs and metrics."""
        halves = UnlessEnded | OrSignIn | InspectAnswers
        by_type = {type(spec): spec for spec, *_ in (*SPECS, *OTHERS) if not isinstance(spec, halves)}
        names = [spec.name for spec in by_type.values()]
        self.assertEqual(len(set(names)), len(names))
        for name in names:
            self.assertRegex(name, r"\A[a-z]+(-[a-z]+)*\Z")

    def test_settings_are_told(self) -> None:
        """What is set differently is described differently."""
        hosts = CertifiedHosts(frozenset({b"a.test"}))
        for one, another in (
            (HttpsRedirect(), HttpsRedirect(8443)),
            (HostRedirect(b"a.test"), HostRedirect(b"b.test")),
            (UpstreamHost(read_template("a")), UpstreamHost(read_template("b"))),
            (ForwardedPrefix(b"/a"), ForwardedPrefix(b"/b")),
            (
                CapturedPrefix("", parse_rewrite_target("/$host")),
                CapturedPrefix("", parse_rewrite_target("/$1")),
            ),
            (CookieRewrite(None, REPLACING), CookieRewrite(REPLACING)),
            (HttpsRedirect(), HttpsRedirect(status=302)),
            (UrlRedirect(read_template("/a$uri")), UrlRedirect(read_template("/b$uri"))),
            (UrlRedirect(read_template("/a")), UrlRedirect(read_template("/a"), 302)),
            (AppRoot(b"/a"), AppRoot(b"/b")),
            (HttpsRedirect(), HttpsRedirect(hosts=hosts)),
            (TransportSecurity(b"max-age=1"), TransportSecurity(b"max-age=2")),
            (TransportSecurity(b"max-age=1"), TransportSecurity(b"max-age=1", hosts)),
            (ClientCertificateFields(), ClientCertificateFields(True)),
            (ServerStatements(SERVER.block), ServerStatements(SERVER.block, SERVER.locations, b"/")),
            (PathStatements(SERVER.block), PathStatements(HERE.block)),
            (SnippetAccess(Layers()), SnippetAccess(LAYERS)),
            (SnippetEdits(Layers()), SnippetEdits(LAYERS)),
            (SnippetAnswers(Layers()), SnippetAnswers(LAYERS)),
            (SlashRedirect(b"/a/"), SlashRedirect(b"/b/")),
            (PathRewrite("", parse_rewrite_target("/a")), PathRewrite("", parse_rewrite_target("/b"))),
            (AddressRanges(parse_ranges("10.0.0.0/8")), AddressRanges(parse_ranges("10.0.0.0/9"))),
            (RequestLimit("", 5), RequestLimit("", 6)),
            (RequestLimit("", 5), RequestLimit("", 5, 60)),
            (RequestLimit("", 5), RequestLimit("", 5, multiplier=1)),
            (RequestLimit("", 5), RequestLimit("", 5, status=429)),
            (RequestLimit("", 5), RequestLimit("", 5, clients=Clients(exempt=parse_ranges("10.0.0.0/8")))),
            (ConnectionLimit("", 5), ConnectionLimit("", 6)),
            (AnswerRate(1024), AnswerRate(1025)),
            (AnswerRate(1024), AnswerRate(1024, 1)),
            (AddressRanges(parse_ranges("10.0.0.0/8")), AddressRanges(None, parse_ranges("10.0.0.0/8"))),
            (RequestBuffering(1), RequestBuffering(2)),
            (CorsPreflight(SOME), CorsPreflight(EVERYBODY)),
            (CorsFields(SOME, ()), CorsFields(SOME, ((b"Access-Control-Max-Age", b"1"),))),
            (CustomErrors((404,)), CustomErrors((404, 503))),
            (Mirror("http://a.test"), Mirror("http://b.test")),
            (Mirror("http://a.test"), Mirror("http://a.test", host=read_template("b.test"))),
            (Mirror("http://a.test"), Mirror("http://a.test", sends_body=False)),
            (CustomErrors((404,)), CustomErrors((404,), (BackendReference("demo", "errors"),))),
            (CustomErrors((404,)), CustomErrors((404,), keeps_answers=True)),
            (SessionCookie(Affinity(b"a")), SessionCookie(Affinity(b"b"))),
        ):
            self.assertNotEqual(one.describe(), another.describe())


class FilterTests(SynchronousTestCase):
    """What the live filters do."""

    def test_verdicts(self) -> None:
        """A filter of a verdict answers what the spec's judgment answers, and lets pass what that lets pass."""
        for spec, facts in (
            (HttpsRedirect(), FakeFacts()),
            (HostRedirect(b"b.test"), FakeFacts()),
            (UrlRedirect(read_template("https://b.test")), FakeFacts()),
            (UrlRedirect(read_template("/a$uri")), FakeFacts()),
            (AppRoot(b"/app"), FakeFacts()),
            (AppRoot(b"/app"), FakeFacts(path=b"/app")),
            (HttpsRedirect(), FakeFacts(scheme=b"https")),
            (NotTerminatedHere(), FakeFacts()),
            (NotTerminatedHere(), FakeFacts(client_evidence=NO_EVIDENCE)),
            (ClientCheck(AUTHENTICATION), FakeFacts(client_evidence=shown())),
            (ClientCheck(AUTHENTICATION), FakeFacts(client_evidence=NO_EVIDENCE)),
            (HostClosed(), FakeFacts()),
            (EarlyCheck(HostClosed()), FakeFacts(client_evidence=NO_EVIDENCE)),
            (CorsPreflight(SOME), FakeFacts(method=b"OPTIONS", fields={b"origin": b"https://a.test"})),
            (CorsPreflight(SOME), FakeFacts(fields={b"origin": b"https://a.test"})),
            (GuardMissing(), FakeFacts()),
            (RegexMissing(), FakeFacts()),
        ):
            self.assertEqual(live(spec).on_request(facts), spec.judge(facts), spec)

    def test_transport_security(self) -> None:
        """The field is set on answers over our own TLS, in place of what was there, and on no others."""
        spec = TransportSecurity(b"max-age=1")
        for facts, value in (
            (FakeFacts(is_secure=True), b"max-age=1"),
            (FakeFacts(scheme=b"https"), b"max-age=2"),
        ):
            edit = FakeEdit(fields=[(b"strict-transport-security", b"max-age=2")])
            answer(spec, facts, edit)
            self.assertEqual([value for _, value in edit.fields], [value])

    def test_transport_security_of_some_hosts(self) -> None:
        """Of a route that takes more hosts, only those with certificates get the field."""
        spec = TransportSecurity(b"max-age=1", CertifiedHosts(frozenset({b"a.test"})))
        for host, count in ((b"a.test", 1), (b"b.test", 0)):
            edit = FakeEdit()
            answer(spec, FakeFacts(is_secure=True, host=host), edit)
            self.assertEqual(len(edit.fields), count)

    def test_client_certificate_fields(self) -> None:
        """Upstream is told what the client showed, over whatever it said itself; without certificate that there is none."""
        said = [(b"ssl-client-verify", b"SUCCESS")]
        edit = FakeEdit(fields=list(said))
        live(ClientCertificateFields()).on_upstream(FakeFacts(client_evidence=NO_EVIDENCE), edit)
        self.assertEqual(edit.fields, [(b"ssl-client-verify", b"NONE")])
        edit = FakeEdit(fields=list(said))
        live(ClientCertificateFields(True)).on_upstream(FakeFacts(client_evidence=shown()), edit)
        self.assertEqual(edit.fields, list(ClientCertificateFields(True).fields(shown())))
        names = [name.removeprefix(b"ssl-client-") for name, _ in edit.fields]
        self.assertEqual(names, [b"verify", b"subject-dn", b"issuer-dn", b"cert"])

    def test_equal_specs_may_share_a_filter(self) -> None:
        """Equal settings are equal specs, with equal hashes."""
        for spec, _, _ in SPECS:
            twin = copy(spec)
            self.assertIsNot(twin, spec)
            self.assertEqual((spec, hash(spec)), (twin, hash(twin)))
