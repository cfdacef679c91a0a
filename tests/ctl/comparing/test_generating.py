"""Tests for ingress.ctl.comparing.generating."""

from datetime import UTC, datetime

from ingress.ctl.comparing.generating import UNKNOWN_HOST, UNKNOWN_PATH, generate
from ingress.ctl.comparing.samples import Chosen, Sample, why_not_sent
from ingress.ctl.inputs.controller_options import options_from
from ingress.ctl.inputs.files.manifests import read_manifests
from tests.ctl.ctl_case import CtlCase

OBJECT = """\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: {name}, namespace: shop, annotations: {{{annotations}}}}}
spec:
  ingressClassName: {class_name}
  tls: [{tls}]
  rules:
    - host: "{host}"
      http:
        paths:
          - {{path: "{path}", pathType: {kind}, backend: {{service: {{name: web, port: {{number: 80}}}}}}}}
---
"""


def manifest(
    path: str = "/cart",
    kind: str = "Prefix",
    host: str = "shop.test",
    name: str = "web",
    tls: str = "",
    annotations: str = "",
    class_name: str = "nginx",
) -> str:
    """An Ingress with one path."""
    return OBJECT.format(
        name=name, path=path, kind=kind, host=host, tls=tls, annotations=annotations, class_name=class_name
    )


class GeneratingTests(CtlCase):
    """Requests made of rules."""

    def chosen(self, text: str, methods: str = "GET", limit: int = 1000) -> Chosen:
        """Return what is made of the manifest *text*."""
        given = read_manifests(
            [self.manifest(text)], options_from(()).settings, datetime(2026, 11, 22, tzinfo=UTC)
        )
        return generate(given, methods.split(","), limit)

    def urls(self, text: str, what: str = "", methods: str = "GET") -> list[str]:
        """Return the URLs of what is made of *text*, those that are *what* alone."""
        return [one.url for one in self.chosen(text, methods).samples if what in ("", one.what)]

    def test_variations(self) -> None:
        """Of a path there is each thing that lies beside it."""
        expected = {
            "as written": "http://shop.test/cart",
            "over https": "https://shop.test/cart",
            "trailing slash": "http://shop.test/cart/",
            "below": "http://shop.test/cart/below",
            "beside": "http://shop.test/cartbar",
            "other case": "http://shop.test/CART",
            "percent escape": "http://shop.test/car%74",
            "escaped slash": "http://shop.test/cart%2Fbelow",
            "dot segments": "http://shop.test/ingressctl/../cart",
            "dot segments at the end": "http://shop.test/cart/..",
            "dot segment": "http://shop.test/./cart",
            "empty segment": "http://shop.test//cart",
            "query": "http://shop.test/cart?a=1&b=x%20y&a=2",
            "root": "http://shop.test/",
            "unknown path": f"http://shop.test{UNKNOWN_PATH}",
            "host in capital letters": "http://SHOP.TEST/",
            "as a browser": "http://shop.test/cart",
        }
        made = {one.what: one.url for one in self.chosen(manifest()).samples}
        self.assertEqual({what: made.get(what) for what in expected}, expected)
        self.assertEqual(made.keys() - expected.keys(), {"unknown host"})

    def test_unknown_host(self) -> None:
        """A host that nobody has is asked for over http and https."""
        self.assertEqual(
            sorted(self.urls(manifest(), "unknown host")),
            [f"http://{UNKNOWN_HOST}/", f"https://{UNKNOWN_HOST}/"],
        )

    def test_without_slash(self) -> None:
        """A path with a trailing slash is tried without it."""
        self.assertIn("http://shop.test/cart", self.urls(manifest("/cart/"), "without trailing slash"))

    def test_wildcard(self) -> None:
        """For a wildcard there are one label, two, and none."""
        urls = self.urls(manifest("/", host="*.sites.test"))
        for label in ("ingressctl.", "a.ingressctl.", ""):
            self.assertIn(f"http://{label}sites.test/", urls)

    def test_encrypted_host(self) -> None:
        """Where TLS is asked for, requests go over https, and the path as it is written over http, too."""
        for hosts in ("hosts: [shop.test], ", ""):
            chosen = self.chosen(manifest(tls=f"{{{hosts}secretName: x}}")).samples
            plain = [one.what for one in chosen if one.scheme == "http" and one.name == "shop.test"]
            self.assertEqual(plain, ["over http"])

    def test_expression(self) -> None:
        """Of an expression there is what it takes, and what it leaves."""
        text = manifest(
            "/api(/|$)(.*)",
            "ImplementationSpecific",
            annotations='"nginx.ingress.kubernetes.io/use-regex": "true"',
        )
        self.assertIn("http://shop.test/api", self.urls(text, "taken by the expression"))
        self.assertIn("http://shop.test/apibeside", self.urls(text, "left by the expression"))

    def test_methods(self) -> None:
        """There are no methods but those that are named; OPTIONS asks as a browser does before it asks for more."""
        self.assertEqual({one.method for one in self.chosen(manifest()).samples}, {"GET"})
        made = [one for one in self.chosen(manifest(), "GET,HEAD,OPTIONS").samples if one.method != "GET"]
        self.assertEqual(
            [(one.method, one.target) for one in made], [("HEAD", "/cart"), ("OPTIONS", "/cart")]
        )
        self.assertEqual([name for name, _ in made[1].fields], ["Origin", "Access-Control-Request-Method"])
        self.assertEqual({one.method for one in self.chosen(manifest(), "HEAD").samples}, {"HEAD"})

    def test_pages_of_other_origins(self) -> None:
        """Where CORS is asked for, one request comes of a page of another origin."""
        text = manifest(annotations='"nginx.ingress.kubernetes.io/enable-cors": "true"')
        (sample,) = [one for one in self.chosen(text).samples if one.what == "of a page of another origin"]
        self.assertEqual((sample.target, sample.fields[0][0]), ("/cart", "Origin"))

    def test_limit(self) -> None:
        """A limit leaves every rule as it is written, cuts what says least, and says how much that is."""
        text = "".join(manifest(f"/p{number}", name=f"n{number}") for number in range(10))
        everything = len(self.chosen(text).samples)
        chosen = self.chosen(text, limit=10)
        self.assertEqual([one.target for one in chosen.samples], [f"/p{number}" for number in range(10)])
        self.assertEqual(chosen.left_out, (("beyond --limit=10", everything - 10),))

    def test_other_classes(self) -> None:
        """Ingresses of other classes are none of ours, and nothing is asked for them."""
        self.assertNotIn("shop.test", {one.name for one in self.chosen(manifest(class_name="other")).samples})

    def test_unserved_rules(self) -> None:
        """Rules that become no route are asked for all the same, for the other side may serve them."""
        text = manifest("/a;b", "Exact")
        self.assertIn("http://shop.test/a;b", self.urls(text, "as written"))

    def test_all_can_be_sent(self) -> None:
        """Whatever a path is made of, each request can be sent, and comes once."""
        for path in ("/ä ö", "/a%20b", "/<x>", "/a?b", "/", "//", "/'\\\\"):
            samples = self.chosen(manifest(path)).samples
            self.assertEqual([why_not_sent(one) for one in samples], [""] * len(samples), path)
            self.assertEqual(len(set(samples)), len(samples), path)

    def test_deterministic(self) -> None:
        """The same manifests make the same requests in the same order, whatever their own order."""
        one, other = manifest("/a", name="a"), manifest("/b", name="b")
        self.assertEqual(self.chosen(one + other).samples, self.chosen(other + one).samples)


class SampleTests(CtlCase):
    """What can be sent."""

    def test_refused(self) -> None:
        """Nothing goes out that would end a line, or that is no host."""
        for sample in (
            Sample("http", "GET", "a\r\nb", "/"),
            Sample("http", "GET", "", "/"),
            Sample("http", "GET", "a", "/\r\nX: y"),
            Sample("http", "GET", "a", "/ b"),
            Sample("http", "GET", "a", "b"),
            Sample("http", "GET", "a", "/ä"),
            Sample("http", "GET", "a", "/" * 9000),
            Sample("http", "GET", "a", "/", (("X", "a\r\nY: b"),)),
            Sample("http", "GET", "a", "/", (("X Y", "a"),)),
        ):
            self.assertNotEqual(why_not_sent(sample), "", sample)

    def test_fields_are_not_shown(self) -> None:
        """What goes with a request does not show in its repr."""
        self.assertNotIn("s3cret", repr(Sample("http", "GET", "a", "/", (("Cookie", "s3cret"),))))
