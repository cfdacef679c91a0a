"""A ConfigMap as ingress-nginx has it, as options."""

from operator import attrgetter
from pathlib import Path
from time import process_time

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.annotations.hosts.transport_security import StrictTransport
from ingress.model.cluster.objects import ObjectKey
from ingress.model.cluster.problems import Problem, Reason
from ingress.model.serving.limits import StreamTries
from ingress.model.serving.serving_settings import ForwardedHeaders
from ingress.options.config_map import MOST_UNKNOWN, read_config_map
from ingress.options.config_map_keys import KEYS, OTHER_DEFAULTS
from ingress.options.merging import Merged, merge
from ingress.options.option import DEFAULTS
from ingress.options.table import OPTIONS, SPELLINGS
from ingress.options.values import MOST_TRIES
from ingress.settings import Settings
from ingress.tap import Options
from tests.properties import examples

DOCUMENTED = Path(__file__).with_name("documented_keys.txt")
KEY = ObjectKey("ingress", "nginx-configuration")


def merged(content: dict[str, str], *arguments: str, started: Settings | None = None) -> Merged:
    """What a ConfigMap and a command line come to."""
    options = Options()
    options.parseOptions(arguments)
    said = read_config_map(KEY, content, options.given)
    return merge(options.settings(), options.given, said, started)


class KeysTests(SynchronousTestCase):
    """Single keys."""

    def said(self, **content: str) -> Merged:
        """What these keys come to, without any problem."""
        found = merged({key.replace("_", "-"): text for key, text in content.items()})
        self.assertEqual(found.problems, ())
        return found

    def told(self, **content: str) -> Problem:
        """The one problem of these keys, which decide nothing."""
        found = merged({key.replace("_", "-"): text for key, text in content.items()})
        self.assertEqual(found.settings, DEFAULTS)
        (problem,) = found.problems
        self.assertEqual((problem.kind, problem.namespace, problem.name), ("ConfigMap", *KEY))
        self.assertTrue(problem.is_the_operators)
        return problem

    def test_own_names(self) -> None:
        """A key with the name of an option is that option, those of annotations included."""
        found = self.said(
            proxy_body_size="8m", proxy_read_timeout="120", ssl_redirect="false", load_balance="ewma"
        )
        self.assertEqual(found.settings.serving.limits.upstream.read_seconds, 120.0)
        self.assertEqual(
            found.in_force, ("load-balance", "proxy-body-size", "proxy-read-timeout", "ssl-redirect")
        )

    def test_access_log(self) -> None:
        """Keys that turn off the lines of requests, or of streams, are ours, too; what ingress-nginx reads besides is no unknown key."""
        found = self.said(disable_http_access_log="true", disable_stream_access_log="false")
        self.assertFalse(found.settings.serving.access_log.has_requests)
        self.assertTrue(found.settings.serving.access_log.has_streams)
        self.said(
            enable_serial_reloads="true",
            forwarded_for_proxy_protocol_header="X-F",
            enable_auth_access_log="false",
        )
        self.assertTrue(self.told(enable_auth_access_log="true").is_note)

    def test_other_names(self) -> None:
        """Keys that are spelled otherwise here mean the same."""
        found = self.said(keep_alive="30", worker_shutdown_timeout="2m", ssl_reject_handshake="true")
        self.assertEqual(found.settings.serving.limits.keep_alive_seconds, 30.0)
        self.assertEqual(found.settings.serving.shutdown_grace_seconds, 120.0)
        self.assertTrue(found.settings.serving.strict_sni)

    def test_strict_transport(self) -> None:
        """The keys about Strict-Transport-Security turn it off, or say what it holds; on and with subdomains is usual."""
        self.assertIsNone(self.said(hsts="false", hsts_max_age="7").settings.translate.strict_transport)
        found = self.said(hsts="true", hsts_max_age="7", hsts_include_subdomains="false", hsts_preload="true")
        self.assertEqual(found.settings.translate.strict_transport, StrictTransport(7, False, True))
        self.assertEqual(self.said(hsts="true", hsts_include_subdomains="true").settings, DEFAULTS)

    def test_wrong_values(self) -> None:
        """A wrong value is told with key, value and reason, and costs that key alone."""
        for key, text, reason in (
            ("proxy-body-size", "huge", "is not a size"),
            ("keep-alive", "0", "keep-alive-requests"),
            ("hsts", "yes", "not a boolean"),
            ("use-forwarded-headers", "on", "not a boolean"),
            ("ssl-protocols", "TLSv1.2 TLSv4", "is not a list of versions"),
            ("ssl-protocols", "TLSv1 TLSv1.2", "not safe"),
        ):
            problem = self.told(**{key: text})
            self.assertEqual((problem.reason, problem.field), (Reason.INVALID_OPTION, f"data.{key}"))
            self.assertIn(text, problem.message)
            self.assertIn(reason, problem.message)

    def test_misspelt(self) -> None:
        """A key that there is not is told with the one that is meant."""
        for written, meant in (
            ("proxy_read_timeout", "proxy-read-timeout"),
            ("use-forward-headers", "use-forwarded-headers"),
            ("compute-full-forward-for", "compute-full-forwarded-for"),
            ("proxy-buffers", "proxy-buffers-number"),
            ("PROXY-BODY-SIZE", "proxy-body-size"),
            ("client-max-body-size", "proxy-body-size"),
            ("keep_alive", "keep-alive"),
        ):
            (problem,) = merged({written: "1"}).problems
            self.assertEqual(problem.reason, Reason.INVALID_OPTION)
            self.assertEqual(problem.field, f"data.{written}")
            self.assertEqual(problem.message, f"there is no such key; perhaps {meant} is meant")
        self.assertEqual(self.told(zzz="1").message, "there is no such key")

    def test_not_honored(self) -> None:
        """A key that cannot be honored says why, unless it asks for what is so in any case."""
        for key in (
            "enable-modsecurity",
            "enable-owasp-modsecurity-crs",
            "ssl-early-data",
        ):
            self.assertEqual(self.told(**{key: "true"}).reason, Reason.UNSUPPORTED_OPTION)
            self.said(**{key: "false"})
        self.assertIn("firewall", self.told(enable_modsecurity="true").message)

    def test_firewall(self) -> None:
        """Its keys are honored where the command line starts firewall processes, each value that cannot be read closes what it guards."""
        content = {
            "enable-modsecurity": "true",
            "enable-owasp-modsecurity-crs": "true",
            "modsecurity-snippet": "SecRuleEngine On",
        }
        found = merged(content, "--firewall-processes=2")
        self.assertEqual(found.problems, ())
        self.assertEqual(found.in_force, tuple(sorted(content)))
        for key, text in content.items():
            told = self.told(**{key: text})
            self.assertEqual(told.reason, Reason.UNSUPPORTED_OPTION)
            self.assertIn("--firewall-processes", told.message)
        found = merged({**content, "modsecurity-snippet": "SecRuleScript /x"}, "--firewall-processes=2")
        (problem,) = found.problems
        self.assertIn("SecRuleScript (line 1)", problem.message)
        operators = found.settings.translate.operators.firewall  # type: ignore[attr-defined]
        self.assertTrue(operators.operators_snippet.lacks_guard)
        (problem,) = merged({"firewall-processes": "2"}).problems
        self.assertEqual(problem.reason, Reason.OPTION_AT_START)

    def test_heads(self) -> None:
        """Room for heads is fixed: what fits in is silent, and what is more than that is told with what there is."""
        self.said(large_client_header_buffers="4 8k")
        for text in ("4 16k", "8 8k", "x", "9" * 9000):
            problem = self.told(large_client_header_buffers=text)
            self.assertEqual(problem.reason, Reason.INVALID_OPTION)
        self.assertIn("32 KiB", self.told(large_client_header_buffers="4 16k").message)

    def test_nothing_lost(self) -> None:
        """What changes nothing here is silent, or a note where somebody might wait for it."""
        self.said(
            worker_cpu_affinity="auto", server_tokens="false", map_hash_bucket_size="128", reuse_port="true"
        )
        self.assertTrue(self.told(max_worker_connections="65536").is_note)
        self.said(worker_processes="auto")
        self.assertTrue(self.told(worker_processes="4").is_note)

    def test_streams(self) -> None:
        """Those about streams are options here, with times as nginx writes them; what is said of their lines is told."""
        found = self.said(
            proxy_stream_timeout="10m",
            proxy_stream_responses="3",
            proxy_stream_next_upstream="false",
            proxy_stream_next_upstream_timeout="2m",
            proxy_stream_next_upstream_tries="5",
        )
        limits = found.settings.serving.limits
        self.assertEqual((limits.stream_rest_seconds, limits.stream_responses), (600.0, 3))
        self.assertEqual(limits.stream_tries, StreamTries(is_on=False, most=5, seconds=120.0))
        usual = self.said(
            proxy_stream_next_upstream="true",
            proxy_stream_next_upstream_timeout="600s",
            proxy_stream_next_upstream_tries="3",
            stream_access_log_path="",
            log_format_stream="[$remote_addr] [$time_local] $protocol $status $bytes_sent $bytes_received $session_time",
        )
        self.assertEqual(usual.settings, DEFAULTS)
        for key, text in (
            ("stream_access_log_path", "/var/log/stream.log"),
            ("log_format_stream", "$remote_addr"),
        ):
            self.assertIn("lines", self.told(**{key: text}).message)
        for key in (
            "proxy_stream_next_upstream",
            "proxy_stream_next_upstream_tries",
            "proxy_stream_next_upstream_timeout",
        ):
            self.assertIs(self.told(**{key: "some"}).reason, Reason.INVALID_OPTION)

    def test_times(self) -> None:
        """A time is read as nginx does: units behind each other, the greatest first, or seconds; great ones, too."""
        for text, seconds in (
            ("1h 30m", 5400),
            ("1m30s", 90),
            ("90", 90),
            ("2d", 172_800),
            ("1M", 2_592_000),
            ("365d", 31_536_000),
        ):
            found = self.said(proxy_stream_timeout=text)
            self.assertEqual(found.settings.serving.limits.stream_rest_seconds, seconds, text)
        self.assertEqual(
            self.said(worker_shutdown_timeout="1s 500ms").settings.serving.shutdown_grace_seconds, 1.5
        )
        for text in ("30m1h", "1.5h", "h", "5 m", "1h 1h"):
            self.assertIn("is not a time", self.told(proxy_stream_timeout=text).message)

    def test_time_of_many_spaces(self) -> None:
        """What is no time is told at once, however many spaces stand in it."""
        began = process_time()
        self.assertIn("is not a time", self.told(proxy_stream_timeout=f"1y{' ' * 60_000}x").message)
        self.assertLess(process_time() - began, 1.0)
        self.assertEqual(
            self.said(proxy_stream_timeout="1m   30s").settings.serving.limits.stream_rest_seconds, 90
        )

    def test_as_many_as_there_are(self) -> None:
        """More tries than there can be are no mistake."""
        found = self.said(proxy_next_upstream_tries="888888", proxy_stream_next_upstream_tries="888888")
        self.assertEqual(found.settings.serving.limits.stream_tries.most, MOST_TRIES)
        self.assertEqual(attrgetter("translate.operators.retries.tries")(found.settings), 888_888)

    def test_what_is_told(self) -> None:
        """Keys that are about no insides of nginx are told where they ask for something, and by what would do it."""
        for key, text, word in (
            ("ssl_ecdh_curve", "secp384r1", "--tls-groups"),
            ("forwarded_host_header", "X-Host", "X-Forwarded-Host"),
            ("retry_non_idempotent", "true", 'write proxy-next-upstream: "error timeout non_idempotent"'),
        ):
            problem = self.told(**{key: text})
            self.assertIs(problem.reason, Reason.UNSUPPORTED_OPTION)
            self.assertIn(word, problem.message)
            self.assertEqual(problem.message.count("is not honored"), 1)
        self.assertTrue(self.told(gzip_disable="msie6").is_note)
        self.said(ssl_ecdh_curve="auto", gzip_disable="")

    def test_server_of_endpoints(self) -> None:
        """What endpoints say in Server is hidden where ingress-nginx's key says so, besides what is hidden already."""
        hidden = attrgetter("translate.operators.operator_fields.hidden")
        found = self.said(allow_backend_server_header="false", hide_headers="X-Powered-By")
        self.assertEqual(hidden(found.settings), ("server", "x-powered-by"))
        self.assertEqual(hidden(self.said(allow_backend_server_header="false").settings), ("server",))
        self.assertEqual(self.said(allow_backend_server_header="True").settings, DEFAULTS)
        self.assertIs(self.told(allow_backend_server_header="no").reason, Reason.INVALID_OPTION)

    def test_newest_version(self) -> None:
        """TLS 1.3 is spoken although only 1.2 is named, and a note says so."""
        found = merged({"ssl-protocols": "TLSv1.2"})
        self.assertEqual(found.settings.tls_min_version, "1.2")
        (problem,) = found.problems
        self.assertIs(problem.reason, Reason.OPTION_NOTE)
        self.assertIn("TLSv1.3", problem.message)
        self.assertEqual(self.said(ssl_protocols="TLSv1.3").settings.tls_min_version, "1.3")

    def test_other_defaults(self) -> None:
        """What the page says of defaults: ours changes nothing, and that of ingress-nginx does."""
        for key, (there, here) in OTHER_DEFAULTS.items():
            self.assertNotEqual(merged({key: there}).settings, DEFAULTS, key)
            self.assertEqual(merged({key: here}), Merged(DEFAULTS, (), merged({key: here}).in_force), key)

    def test_every_documented_key(self) -> None:
        """Each key that ingress-nginx documents is an option, or in the table."""
        documented = DOCUMENTED.read_text("utf-8").split()
        self.assertGreater(len(documented), 200)
        self.assertEqual([key for key in documented if key not in KEYS and key not in SPELLINGS], [])

    def test_table(self) -> None:
        """What the table leads to is there, and no row stands in the shadow of an option of its name."""
        self.assertEqual([key for key in KEYS if key in SPELLINGS], [])
        for key, row in KEYS.items():
            if row.option:
                self.assertIn(row.option, SPELLINGS, key)


class ForwardingTests(SynchronousTestCase):
    """Who says where a request comes from."""

    def found(
        self, content: dict[str, str], *arguments: str
    ) -> tuple[tuple[str, ...], ForwardedHeaders, str, bool]:
        """What these keys come to."""
        serving = merged(content, *arguments).settings.serving
        return (
            serving.trusted_proxies,
            serving.forwarded_headers,
            serving.forwarded_for_header,
            serving.full_forwarded_for,
        )

    def test_nothing(self) -> None:
        """Without a word nobody is believed, whatever networks there are; that is a note."""
        content = {"proxy-real-ip-cidr": "10.0.0.0/8", "forwarded-for-header": "X-Real-IP"}
        self.assertEqual(self.found(content)[0], ())
        self.assertEqual(self.found(content | {"use-forwarded-headers": "false"})[0], ())
        (problem,) = merged(content).problems
        self.assertTrue(problem.is_note)

    def test_use_forwarded_headers(self) -> None:
        """With use-forwarded-headers the networks are believed in all, and the list is replaced unless it is to be whole."""
        content = {"use-forwarded-headers": "true", "proxy-real-ip-cidr": "10.0.0.0/8,192.0.2.0/24"}
        networks = ("10.0.0.0/8", "192.0.2.0/24")
        self.assertEqual(self.found(content), (networks, ForwardedHeaders.ALL, "X-Forwarded-For", False))
        content |= {"compute-full-forwarded-for": "true", "forwarded-for-header": "CF-Connecting-IP"}
        self.assertEqual(self.found(content), (networks, ForwardedHeaders.ALL, "CF-Connecting-IP", True))
        self.assertEqual(merged(content).problems, ())

    def test_forwarded_host(self) -> None:
        """The host that is believed is that of endpoints, too, unless the operator says otherwise, here or at the start."""
        networks = {"proxy-real-ip-cidr": "10.0.0.0/8"}
        for content, arguments, takes_host in (
            ({}, (), False),
            ({"use-forwarded-headers": "true"}, (), True),
            ({"use-forwarded-headers": "true", "use-proxy-protocol": "true"}, (), True),
            ({"enable-real-ip": "true"}, (), False),
            ({"use-proxy-protocol": "true"}, (), False),
            ({"use-forwarded-headers": "true", "use-forwarded-host": "false"}, (), False),
            ({"use-forwarded-headers": "true"}, ("--use-forwarded-host=false",), False),
            ({"enable-real-ip": "true"}, ("--use-forwarded-host=true",), True),
        ):
            found = merged(networks | content, *arguments)
            self.assertEqual(found.settings.serving.forwarded_host, takes_host, (content, arguments))

    def test_everybody(self) -> None:
        """Without networks everybody is believed, as in ingress-nginx, and a note says so."""
        found = merged({"use-forwarded-headers": "true"})
        self.assertEqual(found.settings.serving.trusted_proxies, ("0.0.0.0/0", "::/0"))
        (problem,) = found.problems
        self.assertTrue(problem.is_note)
        self.assertIn("proxy-real-ip-cidr", problem.message)
        self.assertIn("which Host endpoints get", problem.message)
        for content in (
            {"enable-real-ip": "true"},
            {"use-forwarded-headers": "true", "use-forwarded-host": "false"},
        ):
            (problem,) = merged(content).problems
            self.assertNotIn("Host", problem.message)

    def test_enable_real_ip(self) -> None:
        """With enable-real-ip alone the address is believed, and nothing else."""
        content = {"enable-real-ip": "true", "proxy-real-ip-cidr": "10.0.0.0/8"}
        self.assertEqual(self.found(content)[1], ForwardedHeaders.ADDRESS)

    def test_proxy_protocol(self) -> None:
        """With the PROXY protocol the address is in its header, and the rest is believed only if that is wanted, too."""
        content = {"use-proxy-protocol": "true", "proxy-real-ip-cidr": "10.0.0.0/8"}
        self.assertEqual(self.found(content)[:2], (("10.0.0.0/8",), ForwardedHeaders.NONE))
        self.assertTrue(merged(content).settings.use_proxy_protocol)
        self.assertEqual(self.found(content | {"enable-real-ip": "true"})[1], ForwardedHeaders.NONE)

    def test_proxies_behind_proxy_protocol(self) -> None:
        """Where the header names one of the networks, a CDN, that one says who the client is; without networks nobody does."""
        asking = {
            "use-proxy-protocol": "true",
            "use-forwarded-headers": "true",
            "compute-full-forwarded-for": "true",
        }
        named = asking | {
            "proxy-real-ip-cidr": "10.0.0.0/8,198.51.100.0/24",
            "forwarded-for-header": "CF-Connecting-IP",
        }
        networks = ("10.0.0.0/8", "198.51.100.0/24")
        self.assertEqual(self.found(named), (networks, ForwardedHeaders.ALL, "CF-Connecting-IP", True))
        for content, arguments, believed in (
            (asking | {"trusted-proxies": "10.0.0.0/8"}, (), ForwardedHeaders.ALL),
            (asking, ("--trusted-proxies=10.0.0.0/8",), ForwardedHeaders.ALL),
            (asking, (), ForwardedHeaders.OTHERS),
            (asking | {"proxy-real-ip-cidr": "0.0.0.0/0"}, (), ForwardedHeaders.OTHERS),
            (
                asking | {"proxy-real-ip-cidr": "10.0.0.0/8, ::/0 , 0.0.0.0/0.0.0.0"},
                (),
                ForwardedHeaders.OTHERS,
            ),
            (asking | {"trusted-proxies": "0.0.0.0/0"}, (), ForwardedHeaders.OTHERS),
            (
                asking | {"proxy-real-ip-cidr": "0.0.0.0/0"},
                ("--trusted-proxies=10.0.0.0/8",),
                ForwardedHeaders.ALL,
            ),
        ):
            self.assertEqual(self.found(content, *arguments)[1], believed, content)

    def test_command_line(self) -> None:
        """What the command line trusts counts, and what a wrong network would widen is nothing."""
        arguments = ("--trusted-proxies=10.0.0.0/8", "--compute-full-forwarded-for=true")
        content = {"use-forwarded-headers": "true", "forwarded-for-header": "X-Real-IP"}
        self.assertEqual(
            self.found(content, *arguments), (("10.0.0.0/8",), ForwardedHeaders.ALL, "X-Real-IP", True)
        )
        self.assertEqual(merged(content, *arguments).problems, ())
        del content["use-forwarded-headers"]
        self.assertEqual(self.found(content, *arguments)[2], "X-Real-IP")
        found = merged({"use-forwarded-headers": "true", "proxy-real-ip-cidr": "10.0.0.0/8,10.0.0.0/99"})
        self.assertEqual(found.settings.serving.trusted_proxies, ())
        (problem,) = found.problems
        self.assertEqual(problem.field, "data.proxy-real-ip-cidr")


class AtStartTests(SynchronousTestCase):
    """What is decided when the process starts."""

    def test_first_word(self) -> None:
        """Before anybody is served the ConfigMap decides it, later it stays, and another word is told."""
        asking = {"use-proxy-protocol": "true"}
        begun = merged(asking).settings
        self.assertTrue(begun.use_proxy_protocol)
        again = merged(asking, started=begun)
        self.assertEqual([one for one in again.problems if not one.is_note], [])
        for content, started in ((asking, DEFAULTS), ({"use-proxy-protocol": "false"}, begun)):
            (problem,) = [one for one in merged(content, started=started).problems if not one.is_note]
            self.assertEqual(
                (problem.reason, problem.field), (Reason.OPTION_AT_START, "data.use-proxy-protocol")
            )


class HostileTests(SynchronousTestCase):
    """Whatever the ConfigMap holds."""

    def test_many_keys(self) -> None:
        """Of ten thousand keys that mean nothing some are named, and the rest is counted."""
        found = merged({f"proxy-bodysize{number}": "x" for number in range(10_000)})
        self.assertEqual(len(found.problems), MOST_UNKNOWN + 1)
        self.assertIn(
            f"{10_000 - MOST_UNKNOWN:,} more keys mean", " ".join(one.message for one in found.problems)
        )
        found = merged({f"proxy-bodysize{number}": "x" for number in range(MOST_UNKNOWN + 1)})
        self.assertIn("1 more key means nothing", [one.message for one in found.problems])

    def test_long_values(self) -> None:
        """A value of a megabyte is refused unread, for every key: it is as if it were not there, unless that would open a guard."""
        names = {*KEYS, *SPELLINGS} - {"404-page"}
        found = merged(dict.fromkeys(sorted(names), "1," * 524_288))
        closed = {
            option
            for option in OPTIONS.values()
            if option.refused is not None and not callable(option.refused)
        }
        self.assertGreater(len(closed), 5)
        for option in OPTIONS.values():
            usual = option.refused if option in closed else option.usual
            if option.name != "404-page" and not callable(option.refused):
                self.assertEqual(attrgetter(option.to)(found.settings), usual, option.name)
        self.assertTrue(all(len(one.message) < 500 for one in found.problems))

    def test_nothing_said(self) -> None:
        """A guard that has nothing in it guards nothing, under whatever name: charts write such keys."""
        names = [name for name, option in SPELLINGS.items() if option.refused is not None]
        self.assertIn("whitelist-source-range", names)
        for text in ("", " \n"):
            found = merged(dict.fromkeys((*names, "block-cidrs"), text))
            self.assertEqual((found.settings, found.problems), (DEFAULTS, ()))

    def test_long_values_of_other_names(self) -> None:
        """A long list under another name of a guard closes that, too, be it beside one that can be read."""
        long, closed = "192.0.2.1," * 7000, OPTIONS["denylist-source-range"]
        for content in ({"block-cidrs": long}, {"block-cidrs": long, "denylist-source-range": "192.0.2.1"}):
            found = merged(content)
            self.assertEqual(attrgetter(closed.to)(found.settings), closed.refused)
            (problem,) = found.problems
            self.assertIn("what it would guard is closed", problem.message)

    @given(
        st.dictionaries(
            st.sampled_from(sorted({*KEYS, *SPELLINGS})) | st.text(max_size=20),
            st.sampled_from(
                ["", "true", "false", "x", "1", "0", "\r\nX: y", "\0", "ä", "$host", "${", "{{", "a,b", "off"]
            )
            | st.text(max_size=9),
            max_size=8,
        )
    )
    @settings(derandomize=True, deadline=None, max_examples=examples(200))
    def test_total(self, content: dict[str, str]) -> None:
        """There is always a result, and every problem is one line of ASCII that names the ConfigMap."""
        found = merged(content)
        for problem in found.problems:
            self.assertEqual(problem.name, KEY.name)
            self.assertTrue(str(problem).isprintable() and str(problem).isascii(), str(problem))
