"""What lint finds unsafe, and what it does not."""

from ingress.ctl.lint.finding import Level, Standing
from tests.ctl.lint.lint_case import HOST, LintCase, ingress, rules_of

BASIC = {"auth_type": "basic", "auth_secret": "users"}
FAR = "http://auth.example.com/check"
NEAR = (
    "https://auth.example.com/check",
    "http://auth/check",
    "http://oauth2-proxy.auth/check",
    "http://oauth2-proxy.auth.svc/check",
    "http://oauth2-proxy.auth.svc.cluster.local:4180/oauth2/auth",
    "http://10.1.2.3/check",
)


class UnsafeTests(LintCase):
    def test_passwords_over_plain_http(self) -> None:
        """They are told of unless the host redirects to HTTPS."""
        finding = self.found("PasswordsOverHttp", ingress(**BASIC))
        self.assertIn(HOST, finding.message)
        for redirecting in (ingress(tls=[HOST], **BASIC), ingress(force_ssl_redirect="true", **BASIC)):
            self.assert_not_found("PasswordsOverHttp", redirecting)
        self.found("PasswordsOverHttp", ingress(tls=[HOST], ssl_redirect="false", **BASIC))

    def test_who_is_asked_over_plain_http_outside_of_the_cluster(self) -> None:
        """Services, private addresses and https are fine; a sign-in page counts as much as the service."""
        self.assertIn("auth.example.com", self.found("AuthOverHttp", ingress(auth_url=FAR)).message)
        self.found("AuthOverHttp", ingress(auth_url=NEAR[0], auth_signin="http://auth.example.com/in"))
        self.found("AuthOverHttp", ingress(auth_url="http://8.8.8.8/check"))
        for url in NEAR:
            self.assert_not_found("AuthOverHttp", ingress(auth_url=url))

    def test_copies_over_plain_http(self) -> None:
        """The same holds for a mirror."""
        self.found("MirrorOverHttp", ingress(mirror_target="http://test.example.com$request_uri"))
        self.assert_not_found("MirrorOverHttp", ingress(mirror_target="https://test.example.com$request_uri"))

    def test_a_key_that_visitors_share(self) -> None:
        """Verdicts are remembered by what tells visitors apart, or else told of."""
        for key in ("everybody", "$remote_addr", "$host$request_method"):
            self.found("SharedVerdicts", ingress(auth_url=NEAR[0], auth_cache_key=key))
        for key in (
            "$http_authorization",
            "$remote_user$http_authorization",
            "$cookie_session",
            "$ssl_client_s_dn",
        ):
            self.assert_not_found("SharedVerdicts", ingress(auth_url=NEAR[0], auth_cache_key=key))

    def test_everybody_in_a_list(self) -> None:
        """A list with all addresses keeps nobody out, keeps everybody out, or limits nobody."""
        for name in ("allowlist_source_range", "whitelist_source_range", "denylist_source_range"):
            self.found("AllowsEverybody", ingress(**{name: "10.0.0.0/8, 0.0.0.0/0"}))
            self.assert_not_found("AllowsEverybody", ingress(**{name: "10.0.0.0/8"}))
        self.found("AllowsEverybody", ingress(limit_rps="5", limit_allowlist="::/0"))

    def test_everybody_over_one_version_of_ip(self) -> None:
        """All of IPv4 is nothing of IPv6, and the other way round: it is said what becomes of the others."""
        v4, v6, both = "0.0.0.0/0", "::/0", "0.0.0.0/0, ::/0"
        for name, listed, said in (
            (
                "allowlist_source_range",
                v4,
                "0.0.0.0/0 is everybody over IPv4, so none of them is kept out; clients over IPv6 are answered 403",
            ),
            (
                "allowlist_source_range",
                v6,
                "::/0 is everybody over IPv6, so none of them is kept out; clients over IPv4 are answered 403",
            ),
            (
                "whitelist_source_range",
                f"{v6}, 10.0.0.0/8",
                "::/0 is everybody over IPv6, so none of them is kept out; clients over IPv4 that it does not list are answered 403",
            ),
            ("allowlist_source_range", both, "0.0.0.0/0 and ::/0 are everybody, so nobody is kept out"),
            (
                "denylist_source_range",
                v6,
                "::/0 is everybody over IPv6, so all of them are answered 403; clients over IPv4 are not",
            ),
            ("denylist_source_range", both, "0.0.0.0/0 and ::/0 are everybody, so everybody is answered 403"),
            (
                "limit_allowlist",
                v4,
                "0.0.0.0/0 is everybody over IPv4, so none of them is limited; clients over IPv6 are",
            ),
        ):
            found = self.found("AllowsEverybody", ingress(limit_rps="5", **{name: listed}))
            self.assertEqual(found.message, said)
        found = self.found("AnyoneSatisfies", ingress(satisfy="any", allowlist_source_range=v6, **BASIC))
        self.assertIn("::/0 is everybody over IPv6:", found.message)
        self.assertTrue(found.message.endswith("; clients over IPv4 are asked"), found.message)

    def test_any_of_everybody(self) -> None:
        """satisfy: any beside such a list opens what asks for a password or another service; without these there is nothing to open."""
        opened = {"satisfy": "any", "allowlist_source_range": "0.0.0.0/0"}
        for guard in (BASIC, {"auth_url": NEAR[0]}):
            self.assertIs(self.found("AnyoneSatisfies", ingress(**opened, **guard)).level, Level.ERROR)
        self.assert_not_found("AnyoneSatisfies", ingress(**opened))
        self.assert_not_found(
            "AnyoneSatisfies", ingress(satisfy="any", allowlist_source_range="10.0.0.0/8", **BASIC)
        )

    def test_cors(self) -> None:
        """All origins with credentials that are asked for, and the origin null; a list of origins is fine."""
        self.found(
            "CorsAllOriginsWithCredentials", ingress(enable_cors="true", cors_allow_credentials="true")
        )
        self.assert_not_found("CorsAllOriginsWithCredentials", ingress(enable_cors="true"))
        listed = {"enable_cors": "true", "cors_allow_credentials": "true"}
        self.assert_not_found(
            "CorsAllOriginsWithCredentials", ingress(cors_allow_origin="https://b.test", **listed)
        )
        value = ingress(cors_allow_origin="null, https://b.test", **listed)
        self.found("CorsNullOrigin", value)
        self.assert_not_found("AnnotationNote", value)

    def test_beside_what_differs(self) -> None:
        """What is unsafe about an annotation keeps nobody from being told that ingress-nginx does otherwise."""
        value = ingress(auth_secret="users")
        self.found("PasswordsOverHttp", value)
        self.assertIn("without auth-type", self.found("AnnotationNote", value).message)

    def test_endpoints_whose_certificates_nobody_looks_at(self) -> None:
        """It is a note, unless they are judged."""
        finding = self.found("UpstreamNotVerified", ingress(backend_protocol="HTTPS"))
        self.assertIs(finding.level, Level.NOTE)
        self.found("UpstreamNotVerified", ingress(backend_protocol="GRPCS", proxy_ssl_verify="off"))
        self.assert_not_found("UpstreamNotVerified", ingress(backend_protocol="HTTP"))
        judged = {"proxy_ssl_verify": "on", "proxy_ssl_secret": "shop/ca"}
        self.assert_not_found("UpstreamNotVerified", ingress(backend_protocol="HTTPS", **judged))

    def test_a_redirect_to_where_a_visitor_says(self) -> None:
        """The host of the request, and what follows a host, are nobody's choice."""
        for url in ("https://$arg_next/", "https://$http_x_host$request_uri"):
            self.found("OpenRedirect", ingress(temporal_redirect=url))
        for url in (
            "https://$host$request_uri",
            "https://b.test/?next=$arg_next",
            "https://b.test$request_uri",
        ):
            self.assert_not_found("OpenRedirect", ingress(permanent_redirect=url))

    def test_client_certificates_that_are_not_required(self) -> None:
        """Those of any authority are a warning, what is optional a note."""
        asked = {"auth_tls_secret": "shop/ca"}
        self.found("AnyCertificate", ingress(auth_tls_verify_client="optional_no_ca", **asked))
        self.found("CertificateNotRequired", ingress(auth_tls_verify_client="optional", **asked))
        for mode in ("on", ""):
            found = rules_of(self.lint(ingress(auth_tls_verify_client=mode, **asked)))
            self.assertTrue(found.isdisjoint({"AnyCertificate", "CertificateNotRequired"}))

    def test_notes(self) -> None:
        """Bodies of any size, and snippets, which are honored: they are noted."""
        self.found("BodyWithoutLimit", ingress(proxy_body_size="0"))
        self.assert_not_found("BodyWithoutLimit", ingress(proxy_body_size="100m"))
        value = ingress(configuration_snippet="more_set_headers 'A: b';")
        self.found("CriticalRisk", value)
        self.assertIs(self.standing("configuration-snippet", value).standing, Standing.HONORED)

    def test_what_is_unsafe_stands_so(self) -> None:
        """The annotation that a danger is told of has that standing, and says why."""
        report = self.standing("allowlist-source-range", ingress(allowlist_source_range="0.0.0.0/0"))
        self.assertIs(report.standing, Standing.UNSAFE)
        self.assertIn("everybody", report.why)
