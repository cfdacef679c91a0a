"""External authentication: from annotation to route, and what is told of what cannot be had."""

from datetime import UTC, datetime

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.access.guards import GuardMissing
from ingress.annotations.contract.asked_urls import parse_targets, parse_url_template
from ingress.annotations.contract.values import ValueRefused, parse_locations
from ingress.annotations.external_auth.cache import USUAL_DURATIONS, parse_durations
from ingress.annotations.external_auth.check import AuthCaching, ExternalAuth
from ingress.annotations.external_auth.family import EXTERNAL_AUTH
from ingress.annotations.external_auth.settings import REFUSED, AuthSettings
from ingress.filters import FilterSpec, Phase
from ingress.model.cluster.objects import ConfigMap, ObjectKey, Secret
from ingress.model.requests.templates import read_template
from ingress.options.family_options import family_options
from ingress.translate.options import TranslateOptions
from ingress.translate.snapshot import Snapshot
from ingress.translate.translate import translate
from tests.fakes.filter_parts import FakeFacts
from tests.operator_settings import operator_settings
from tests.translate.golden import state_of
from tests.translate.tls.test_client_authentication import ingress
from tests.workers.sent import sent

URL = "http://authelia.auth.svc.cluster.local/api/verify"
BELOW = "metadata.annotations[nginx.ingress.kubernetes.io/"
NOTHING = AuthSettings()
GLOBAL = AuthSettings(global_url=parse_url_template("https://global.test/auth"))


def snapshot(operators: AuthSettings = NOTHING, /, **written: str) -> Snapshot:
    """Translate an Ingress with these annotations, whose names have underscores here."""
    named = {name.replace("_", "-"): value for name, value in written.items()}
    options = TranslateOptions(operators=operator_settings((EXTERNAL_AUTH, operators)))
    return translate(state_of([ingress("a", "/", **named)]), options, datetime.now(UTC))


def checks(operators: AuthSettings = NOTHING, /, **written: str) -> tuple[FilterSpec, ...]:
    """Return what stands in the ACCESS phase before its route."""
    (route,) = snapshot(operators, **written).table.routes
    return tuple(spec for spec in route.filters if spec.phase is Phase.ACCESS)


def check(operators: AuthSettings = NOTHING, /, **written: str) -> ExternalAuth:
    """Return its one check."""
    (spec,) = checks(operators, **written)
    assert isinstance(spec, ExternalAuth)
    return spec


def told(operators: AuthSettings = NOTHING, /, **written: str) -> list[str]:
    """Return its problems, each as its reason and its message."""
    return [
        f"{problem.reason.value} {problem.message}"
        for problem in snapshot(operators, **written).problems
        if BELOW in problem.field
    ]


class RouteTests(SynchronousTestCase):
    """What becomes of annotations."""

    def test_nothing(self) -> None:
        """Where nobody is to be asked, nothing stands before the route."""
        for written in ({}, {"auth_url": ""}, {"auth_url": " \n"}, {"enable_global_auth": "true"}):
            self.assertEqual(checks(**written), (), written)

    def test_url(self) -> None:
        """A URL alone asks with what holds where nothing else is said."""
        self.assertEqual(checks(auth_url=URL), (ExternalAuth(parse_url_template(URL)),))

    def test_all(self) -> None:
        """Each annotation is a part of the check."""
        spec = check(
            auth_url="https://$host/oauth2/auth",
            auth_method="POST",
            auth_signin="https://$host/oauth2/start?rd=$escaped_request_uri",
            auth_response_headers="X-Auth-Request-User, x-auth-request-email,Authorization,",
            auth_request_redirect="https://$host$request_uri",
            auth_cache_key="$http_authorization",
            auth_cache_duration="200 1m",
            auth_always_set_cookie="true",
        )
        self.assertEqual(
            spec,
            ExternalAuth(
                read_template("https://$host/oauth2/auth"),
                "POST",
                read_template("https://$host/oauth2/start?rd=$escaped_request_uri"),
                ("X-Auth-Request-User", "x-auth-request-email", "Authorization"),
                read_template("https://$host$request_uri"),
                caching=AuthCaching(
                    read_template("$http_authorization"), parse_durations("200 1m"), "a.test/"
                ),
                always_sets_cookie=True,
            ),
        )

    def test_return(self) -> None:
        """The way back is put behind the sign-in page unless its query has it, in the parameter that is asked for."""
        back = "${pass_access_scheme}://${http_host}${escaped_request_uri}"
        for page, parameter, whole in (
            ("https://auth.test/start", "", f"https://auth.test/start?rd={back}"),
            ("https://auth.test/start?a=b", "", f"https://auth.test/start?a=b&rd={back}"),
            ("https://auth.test/start?", "", f"https://auth.test/start?rd={back}"),
            ("https://auth.test/start?rd=/x", "", "https://auth.test/start?rd=/x"),
            ("https://auth.test/start?rd=", "", f"https://auth.test/start?rd=&rd={back}"),
            ("https://auth.test/start?rd=/x", "next", f"https://auth.test/start?rd=/x&next={back}"),
            ("https://auth.test/#/login", "", f"https://auth.test/#/login?rd={back}"),
            ("$scheme://$host/start", "", f"${{scheme}}://${{host}}/start?rd={back}"),
            ("/start?a=b", "", f"${{pass_access_scheme}}://${{http_host}}/start?a=b&rd={back}"),
        ):
            more = {"auth_signin_redirect_param": parameter} if parameter else {}
            self.assertEqual(str(check(auth_url=URL, auth_signin=page, **more).signin), whole, page)

    def test_declared_variables(self) -> None:
        """What ``auth_request_set`` of an auth-snippet names may stand in the sign-in page, is empty there, as in nginx, and that is told.

        So Vouch documents it.
        """
        page = (
            "https://vouch.test/login?url=$scheme://$http_host$request_uri&rd=$auth_resp_jwt.${auth_resp_err}"
        )
        written = {
            "auth_url": "https://vouch.test/validate",
            "auth_signin": page,
            "auth_snippet": "auth_request_set $auth_resp_jwt $upstream_http_x_vouch_jwt;\n"
            "proxy_set_header X-Was $auth_resp_err;\n"
            "auth_request_set $auth_resp_err $upstream_http_x_vouch_err$auth_resp_jwt;\n",
        }
        spec = check(**written)
        assert spec.signin is not None
        facts = FakeFacts(target=b"/a?b=c", fields={b"host": b"a.test"})
        self.assertEqual(spec.signin.render(facts), b"https://vouch.test/login?url=http://a.test/a?b=c&rd=.")
        self.assertEqual([(name, value.render(facts)) for name, value in spec.fields], [("X-Was", b"")])
        (note,) = told(**written)
        self.assertEqual(
            note,
            "AnnotationNote auth-snippet: auth_request_set fills nothing there, as in ingress-nginx: "
            "empty is $auth_resp_err, $auth_resp_jwt",
        )

    def test_undeclared_variables(self) -> None:
        """A sign-in page with a variable that nobody knows is none, and that is told; for the operator's it is a mistake of the option."""
        written = {"auth_url": URL, "auth_snippet": "auth_request_set $one $upstream_status;"}
        page = "https://auth.test/?a=$one&b=$two"
        self.assertEqual(check(auth_signin=page, **written).signin, None)
        _, problem = told(auth_signin=page, **written)
        self.assertEqual(
            problem,
            f'InvalidAnnotation auth-signin: "{page}" holds the variable $two, which is not known here; who is not known gets 401',
        )
        options = {option.name: option for option in family_options((EXTERNAL_AUTH,), ())}
        self.assertRaises(ValueError, options["global-auth-signin"].read, "https://auth.test/?a=$one")

    def test_constants(self) -> None:
        """What the route decides is text as soon as there is a route."""
        spec = check(auth_url="http://auth.$namespace.svc/$service_name?host=$server_name")
        self.assertEqual(spec.url.variables, frozenset())
        self.assertEqual(str(spec.url), "http://auth.demo.svc/web?host=a.test")

    def test_cache(self) -> None:
        """Nothing is remembered without a key, and nothing for other paths or hosts."""
        self.assertEqual(check(auth_url=URL, auth_cache_duration="200 1m").caching, None)
        caching = check(auth_url=URL, auth_cache_key="k").caching
        self.assertEqual(caching, AuthCaching(read_template("k"), USUAL_DURATIONS, "a.test/"))
        self.assertEqual(check(auth_url=URL, auth_cache_key="k", auth_cache_duration="x").caching, None)

    def test_never_taken(self) -> None:
        """Fields that frame a message, or belong to a connection, are no part of it, and that is told."""
        headers = "Host, X-User, Content-Length, Transfer-Encoding, connection, Upgrade"
        self.assertEqual(check(auth_url=URL, auth_response_headers=headers).response_headers, ("X-User",))
        (note,) = told(auth_url=URL, auth_response_headers=headers)
        self.assertIn("AnnotationNote auth-response-headers: Host, Content-Length, Transfer-Encoding", note)

    def test_changes_nothing(self) -> None:
        """Connections are always kept, so what is said about keeping them is accepted in silence."""
        more = {
            "auth_keepalive": "10",
            "auth_keepalive_requests": "100",
            "auth_keepalive_timeout": "60",
            "auth_keepalive_share_vars": "true",
            "auth_snippet": "# nothing\n",
            "auth_method": "GET",
        }
        self.assertEqual(told(auth_url=URL, **more), [])
        self.assertEqual(checks(auth_url=URL, **evolve_without(more, "auth_method")), checks(auth_url=URL))

    def test_bytes(self) -> None:
        """A check goes to another process and is the same there."""
        before = snapshot(auth_url="http://$host/a", auth_cache_key="$host", auth_response_headers="X-User")
        after = sent(before)
        self.assertEqual(after.table.routes[0].filters, before.table.routes[0].filters)

    def test_says(self) -> None:
        """A check says in a sentence whom it asks."""
        spec = check(auth_url=URL, auth_method="POST", auth_signin="https://auth.test/", auth_cache_key="k")
        self.assertEqual(
            spec.describe(),
            f"asks POST {URL}, whose verdicts are remembered, whether a request may pass,"
            " and sends to its sign-in page who is not known",
        )


def evolve_without(values: dict[str, str], name: str) -> dict[str, str]:
    """Return *values* without one."""
    return {each: value for each, value in values.items() if each != name}


class ClosingTests(SynchronousTestCase):
    """What cannot be had opens nothing."""

    def assert_closed(self, **written: str) -> str:
        """Check that the paths answer 503, with one problem; return it."""
        (problem,) = told(**written)
        (route,) = snapshot(**written).table.routes
        self.assertIn(GuardMissing(), route.filters, written)
        return problem

    def test_refused(self) -> None:
        """A URL, method, list of fields or snippet that cannot be read closes the paths, and says what is wrong with it."""
        for name, value, why in (
            ("auth_url", "auth.test", "is no URL"),
            ("auth_url", "http://user:geheim@auth.test/", "holds a user"),
            ("auth_url", "http://auth.test/$nope", "$nope"),
            ("auth_method", "get", "is no method"),
            ("auth_method", "CONNECT", "is no method"),
            ("auth_method", "TRACE", "is no method"),
            ("auth_response_headers", "X-User, X Y", '"X Y"'),
            ("auth_response_headers", "X-User\r\nX-Evil: 1", "is no name of a field"),
            (
                "auth_snippet",
                "deny all;",
                "line 1 what is neither proxy_set_header nor auth_request_set, and is never executed",
            ),
            ("auth_snippet", "proxy_set_header X-Role admin;\nreturn 200;", "line 2 what is neither"),
            ("auth_snippet", "proxy_set_header X-Role admin", "a semicolon is missing"),
            ("auth_snippet", "proxy_set_header X-Role;", "takes a name and a value"),
            ("auth_snippet", "proxy_set_header X-Role $nope;", "$nope"),
            ("auth_snippet", "proxy_set_header Host a.test;", "Host, which is the proxy's own"),
            (
                "auth_snippet",
                "proxy_set_header Content-Length 5;",
                "Content-Length, which is the proxy's own",
            ),
            (
                "auth_snippet",
                "if ($a) { proxy_set_header X-Role admin; }",
                "what is neither proxy_set_header nor auth_request_set",
            ),
            ("auth_snippet", "auth_request_set $a;", "line 1 auth_request_set, which takes a variable"),
            ("auth_snippet", "auth_request_set $host $upstream_http_x_host;", "sets $host"),
            ("auth_snippet", "auth_request_set $a $nope;", "$nope"),
            (
                "auth_snippet",
                "auth_request_set $a $upstream_status { }",
                "what is neither proxy_set_header nor auth_request_set",
            ),
        ):
            written = {"auth_url": URL, name: value}
            problem = self.assert_closed(**written)
            self.assertIn(f"InvalidAnnotation {name.replace('_', '-')}: ", problem)
            self.assertIn(why, problem)
            self.assertIn("answer 503 rather than be open", problem)

    def test_without_url(self) -> None:
        """Where nobody is to be asked, what cannot be read closes nothing."""
        for name, value in (
            ("auth_method", "x"),
            ("auth_snippet", "deny all;"),
            ("auth_response_headers", "a b"),
        ):
            self.assertEqual(checks(**{name: value}), (), name)

    def test_hosts_that_visitors_choose(self) -> None:
        """Nobody is asked who is chosen by whom it is about, unless the operator says where URLs may lead; the host of a rule is chosen by that."""
        named = AuthSettings(allowed=parse_targets("auth.test, *.auth.test"))
        everybody = AuthSettings(global_url=parse_url_template("http://$host/check"))
        anywhere = AuthSettings(global_url=parse_url_template("http://$arg_a/"))
        for operators, url, closed in (
            (NOTHING, "https://$host/check", {""}),
            (NOTHING, "http://$http_host/", {""}),
            (NOTHING, "http://auth.$best_http_host/", {"", "a.test", "*.test"}),
            (NOTHING, "http://$http_x_auth/", {"", "a.test", "*.test"}),
            (NOTHING, "http://${arg_team}.auth.test/", {"", "a.test", "*.test"}),
            (NOTHING, "http://auth.test:$cookie_port", {"", "a.test", "*.test"}),
            (NOTHING, "http://$remote_addr/", {"", "a.test", "*.test"}),
            (named, "http://$http_x_auth/", set()),
            (named, "https://$host/check", set()),
            (everybody, "", {""}),
            (anywhere, "", {"", "a.test", "*.test"}),
            (NOTHING, "http://auth.test$request_uri", set()),
            (NOTHING, "http://auth.test/$host?$arg_a", set()),
            (NOTHING, "http://$service_name.$namespace.svc/", set()),
        ):
            for host in ("", "a.test", "*.test"):
                found = translate(
                    state_of([ingress("a", "/", host=host, **({"auth-url": url} if url else {}))]),
                    TranslateOptions(operators=operator_settings((EXTERNAL_AUTH, operators))),
                    datetime.now(UTC),
                )
                (route,) = found.table.routes
                closes = host in closed
                self.assertEqual(GuardMissing() in route.filters, closes, (url, host))
                said = [one for one in found.problems if "visitors choose $" in one.message]
                self.assertEqual(len(said), closes, (url, host))

    def test_forbidden_target(self) -> None:
        """A URL that can only lead where none may is told of, and closes the paths."""
        self.assertIn(
            "leads to 127.0.0.1, which is an address of this host",
            self.assert_closed(auth_url="http://127.0.0.1/"),
        )
        operators = AuthSettings(allowed=parse_targets("auth.test"))
        (problem,) = told(operators, auth_url="http://other.test/")
        self.assertIn("other.test, which is not among what --auth-url-allow names", problem)
        (route,) = snapshot(operators, auth_url="http://other.test/").table.routes
        self.assertIn(GuardMissing(), route.filters)
        self.assertEqual(told(operators, auth_url="http://auth.test/"), [])

    def test_forbidden_by_constants(self) -> None:
        """Where constants come to a host that may not be asked, that closes the path, too."""
        operators = AuthSettings(allowed=parse_targets("auth.test"))
        self.assertEqual(checks(operators, auth_url="http://$namespace.test/"), (GuardMissing(),))
        self.assertEqual(checks(auth_url="http://127.0.0.$service_port/"), (GuardMissing(),))

    def test_no_host_of_constants(self) -> None:
        """Constants that come to no host close the path."""
        self.assertEqual(checks(auth_url="http://$location_path:80/"), (GuardMissing(),))


class ConfigMapTests(SynchronousTestCase):
    """What the service is told besides, out of a ConfigMap."""

    def snapshot(self, value: str, *objects: ConfigMap) -> Snapshot:
        """Translate an Ingress that names one."""
        written = {"auth-url": URL, "auth-proxy-set-headers": value}
        return translate(
            state_of([ingress("a", "/", **written), *objects]), TranslateOptions(), datetime.now(UTC)
        )

    def test_found(self) -> None:
        """Its names and values are told, with variables, and with what the route decides as text."""
        content = {"X-Env": "test", "X-Path": "$request_uri of $namespace"}
        for name in ("told", "demo/told"):
            (route,) = self.snapshot(name, ConfigMap(ObjectKey("demo", "told"), content)).table.routes
            (spec,) = (one for one in route.filters if isinstance(one, ExternalAuth))
            self.assertEqual(
                [(name, str(value)) for name, value in spec.fields],
                [("X-Env", "test"), ("X-Path", "${request_uri} of demo")],
            )

    def test_beside_a_snippet(self) -> None:
        """Of a field that both name that of the snippet counts."""
        content = {"X-Env": "test", "X-Path": "/"}
        written = {
            "auth-url": URL,
            "auth-proxy-set-headers": "told",
            "auth-snippet": "proxy_set_header x-env $namespace;",
        }
        state = state_of([ingress("a", "/", **written), ConfigMap(ObjectKey("demo", "told"), content)])
        (route,) = translate(state, TranslateOptions(), datetime.now(UTC)).table.routes
        (spec,) = (one for one in route.filters if isinstance(one, ExternalAuth))
        self.assertEqual(
            sorted((name, str(value)) for name, value in spec.fields), [("X-Path", "/"), ("x-env", "demo")]
        )

    def test_closed(self) -> None:
        """One that is not there, out of reach, or holds what is no field, closes the paths, and is told of."""
        for name, content in (
            ("missing", {}),
            ("other/told", {}),
            ("told", {"Host": "x"}),
            ("told", {"X Y": "x"}),
            ("told", {"X-Y": "$nope"}),
            ("told", {"X-Y": "a\r\nX-Evil: b"}),
            ("told", {f"x{number}": "" for number in range(65)}),
            ("a b", {}),
        ):
            maps = (
                ConfigMap(ObjectKey("demo", "told"), content),
                ConfigMap(ObjectKey("other", "told"), content),
            )
            found = self.snapshot(name, *maps)
            (route,) = found.table.routes
            self.assertIn(GuardMissing(), route.filters, name)
            problems = [
                problem.message
                for problem in found.problems
                if "auth-proxy-set-headers" in problem.field + problem.message
            ]
            self.assertEqual(len(problems), 1, (name, problems))
            self.assertIn("503", problems[0])


class ExemptTests(SynchronousTestCase):
    """Paths that nobody is asked about."""

    def test_challenges(self) -> None:
        """Challenges of an authority are not asked about, by the operator's word neither, nor for a password; other paths are."""
        people = Secret(
            ObjectKey("demo", "people"), "Opaque", {"auth": b"anna:{SHA}0DPiKuNIrrVmD8IUCuw1hQxNqZc="}
        )
        passwords = {"auth-type": "basic", "auth-secret": "people"}
        cases: tuple[tuple[AuthSettings, dict[str, str]], ...] = (
            (NOTHING, {"auth-url": URL}),
            (GLOBAL, {}),
            (NOTHING, passwords),
            (NOTHING, {**passwords, "auth-url": URL, "satisfy": "any"}),
        )
        for operators, written in cases:
            options = TranslateOptions(operators=operator_settings((EXTERNAL_AUTH, operators)))
            paths = "/", "/.well-known/acme-challenge/x"
            found = translate(state_of([ingress("a", *paths, **written), people]), options, datetime.now(UTC))
            asked = {
                route.path: any(one.phase is Phase.ACCESS for one in route.filters)
                for route in found.table.routes
            }
            self.assertEqual(asked, {paths[0]: True, paths[1]: False})

    def test_addresses(self) -> None:
        """Who may come in by address is asked everywhere."""
        paths = "/", "/.well-known/acme-challenge/x"
        asking = ingress("a", *paths, **{"auth-url": URL, "allowlist-source-range": "10.0.0.0/8"})
        found = translate(state_of([asking]), TranslateOptions(), datetime.now(UTC))
        names = {
            route.path: [one.name for one in route.filters if one.phase is Phase.ACCESS]
            for route in found.table.routes
        }
        self.assertEqual(names, {paths[0]: ["address-ranges", "external-auth"], paths[1]: ["address-ranges"]})

    def test_others(self) -> None:
        """The operator may name others, and never all."""
        self.assertEqual(parse_locations("/health, /public/,"), ("/health", "/public/"))
        self.assertEqual(parse_locations(""), ())
        for text in ("/", "health", "/a,/"):
            self.assertRaises(ValueRefused, parse_locations, text)


class RemarkTests(SynchronousTestCase):
    """What is told of annotations as they stand together."""

    def test_alone(self) -> None:
        """What means nothing without auth-url is told, once for all of it."""
        (note,) = told(auth_signin="https://auth.test/")
        self.assertEqual(note, "AnnotationNote auth-signin: means nothing without auth-url")
        (note,) = told(auth_signin="https://auth.test/", auth_response_headers="X-User", auth_cache_key="k")
        self.assertIn("nor do auth-response-headers, auth-cache-key", note)
        (note,) = told(GLOBAL, auth_signin="https://auth.test/")
        self.assertIn("global-auth-url goes by the operator's own", note)

    def test_duration_alone(self) -> None:
        """A duration without a key is told."""
        (note,) = told(auth_url=URL, auth_cache_duration="200 1m")
        self.assertIn("AnnotationNote auth-cache-duration: means nothing without auth-cache-key", note)

    def test_not_guarding(self) -> None:
        """What cannot be read and guards nothing leaves the rest in force."""
        for name, value, instead in (
            ("auth_signin", "javascript:alert(1)", "gets 401"),
            ("auth_signin", "//evil.test/", "gets 401"),
            ("auth_signin", "https://auth.test/\r\nSet-Cookie: a=b", "gets 401"),
            ("auth_signin", "start", "gets 401"),
            ("auth_signin_redirect_param", "a&b", "the default is used"),
            ("auth_cache_key", "$nope", "no verdict is remembered"),
            ("auth_cache_duration", "always", "no verdict is remembered"),
            ("auth_request_redirect", "$nope", "the default is used"),
            ("auth_always_set_cookie", "maybe", "the default is used"),
            ("auth_keepalive", "many", "the default is used"),
        ):
            more = {"auth_cache_key": "k"} if name == "auth_cache_duration" else {}
            (problem,) = told(auth_url=URL, **more, **{name: value})
            self.assertIn(f"InvalidAnnotation {name.replace('_', '-')}: ", problem)
            self.assertIn(instead, problem)
            self.assertEqual(
                check(auth_url=URL, **more, **{name: value}), ExternalAuth(parse_url_template(URL))
            )


class GlobalTests(SynchronousTestCase):
    """What the operator says for all."""

    def test_for_whom(self) -> None:
        """It holds for Ingresses without a URL of their own that do not say otherwise."""
        spec = check(GLOBAL)
        self.assertEqual((str(spec.url), spec.is_operators), ("https://global.test/auth", True))
        self.assertEqual(checks(GLOBAL, enable_global_auth="false"), ())
        own = check(GLOBAL, auth_url=URL)
        self.assertEqual((str(own.url), own.is_operators), (URL, False))
        # What cannot be read must not open anything.
        self.assertEqual(check(GLOBAL, enable_global_auth="nope"), spec)

    def test_by_whose_words(self) -> None:
        """The operator's goes by the operator's words, an Ingress's by its own, all of them."""
        operators = evolve(
            GLOBAL,
            global_method="HEAD",
            global_signin="https://global.test/start",
            global_response_headers=("X-Global",),
            global_cache_key=read_template("k"),
            global_always_sets_cookie=True,
            seconds=3.0,
        )
        spec = check(operators, auth_signin="https://own.test/")
        self.assertEqual((spec.method, spec.response_headers, spec.seconds), ("HEAD", ("X-Global",), 3.0))
        self.assertIn("global.test/start", str(spec.signin))
        own = check(operators, auth_url=URL)
        self.assertEqual((own.method, own.signin, own.response_headers, own.seconds), ("", None, (), 3.0))

    def test_closed(self) -> None:
        """Where the operator's words cannot be had, all that they hold for answer 503."""
        for operators in (
            AuthSettings(global_url=REFUSED),
            evolve(GLOBAL, global_method=REFUSED),
            evolve(GLOBAL, global_snippet=REFUSED),
        ):
            self.assertEqual(checks(operators), (GuardMissing(),))
            self.assertEqual(checks(operators, enable_global_auth="false"), ())

    def test_nobodys_route(self) -> None:
        """The controller's own default backend is nobody's, and is not asked about."""
        options = TranslateOptions(operators=operator_settings((EXTERNAL_AUTH, GLOBAL)))
        found = translate(state_of([]), options, datetime.now(UTC))
        self.assertEqual([route.filters for route in found.table.routes], [])

    def test_options(self) -> None:
        """Each word of the operator is an option, which reads what the annotation does."""
        options = {option.name: option for option in family_options((EXTERNAL_AUTH,), ())}
        self.assertEqual(
            set(options),
            {
                "auth-url-allow",
                "auth-url-timeout",
                "auth-url-verify",
                "no-auth-locations",
                "global-auth-always-set-cookie",
                "global-auth-cache-duration",
                "global-auth-cache-key",
                "global-auth-method",
                "global-auth-request-redirect",
                "global-auth-response-headers",
                "global-auth-signin",
                "global-auth-signin-redirect-param",
                "global-auth-snippet",
                "global-auth-url",
            },
        )
        option = options["global-auth-url"]
        self.assertEqual(option.to, "translate.operators.external_auth.global_url")
        self.assertEqual(str(option.read("http://auth.test/") if option.read else ""), "http://auth.test/")
        self.assertRaises(ValueError, options["global-auth-snippet"].read, "deny all;")
