"""What sets by chance have shown."""

from itertools import permutations

from conformance.cluster import Object
from conformance.ingress_nginx.case import Ask, Case, Told, also, gets, ingress
from conformance.ingress_nginx.cases.documents import ERRORS


def of_hosts(*ingresses: Object) -> Object:
    """One Ingress with the rules of several."""
    first, *others = ingresses
    rules = [rule for one in (first, *others) for rule in one["spec"]["rules"]]
    return {**first, "spec": {**first["spec"], "rules": rules}}


def without_paths(thing: Object) -> Object:
    """The same with a rule that has no ``http``."""
    return also(thing, rules=[{"host": "HOST"}])


CASES = (
    Case(
        "path-twice-beside-expressions",
        (
            ingress({"/x(.*)": "all"}, kind="ImplementationSpecific", name="all", use_regex="true"),
            ingress(
                {
                    "Prefix:/a-b": "first",
                    "ImplementationSpecific:/a-b": "second",
                    "ImplementationSpecific:/c": "first",
                    "Prefix:/c": "second",
                    "Exact:/d": "first",
                    "Prefix:/d": "second",
                }
            ),
        ),
        gets("/a-b", "/a-b/", "/a-bx", "/c", "/c/x", "/cx", "/d", "/d/x", "/dx"),
    ),
    *(
        Case(
            f"path-twice-beside-slashed-{number}",
            (
                ingress({"/x(.*)": "all"}, kind="ImplementationSpecific", name="all", use_regex="true"),
                *(
                    ingress({path: service}, name=f"{order}-{service}")
                    for order, (path, service) in zip("zyx", paths, strict=True)
                ),
            ),
            gets("/a", "/a/", "/a/x", "/ax", "/b"),
        )
        for number, paths in enumerate(
            permutations(
                (("Exact:/a/", "exact"), ("Prefix:/a", "first"), ("ImplementationSpecific:/a", "second"))
            )
        )
    ),
    Case(
        "own-root-beside-expressions",
        (
            ingress({"/(.*)": "all"}, kind="ImplementationSpecific", name="all", use_regex="true"),
            ingress(app_root="/app"),
        ),
        gets("/", "/?a", "/app", "/b"),
    ),
    Case(
        "app-root-of-lost-root",
        (
            ingress(name="z", use_regex="true"),
            ingress({"/": "lost", "/b": "b"}, name="a", app_root="/app"),
        ),
        gets("/", "/app", "/b"),
    ),
    Case(
        "app-root-of-older-root",
        (ingress(name="z"), ingress({"/": "lost", "/b": "b"}, name="a", app_root="/app")),
        gets("/", "/?a", "/app", "/b"),
    ),
    Case(
        "app-root-of-older-paths",
        (
            ingress({"/": "web", "/b": "web"}, name="z"),
            ingress({"/": "lost", "/b": "lost"}, name="a", app_root="/app"),
        ),
        gets("/", "/app", "/b"),
    ),
    Case(
        "app-root-of-older-exact",
        (
            ingress({"Exact:/": "web"}, name="z"),
            ingress({"/": "own", "/b": "own"}, name="a", app_root="/app"),
        ),
        gets("/", "/app", "/b"),
    ),
    Case(
        "app-root-of-lost-paths",
        (
            ingress({"/b": "web"}, name="z"),
            ingress({"/b": "lost"}, name="b", app_root="/lost"),
            ingress({"/c": "c"}, name="a", app_root="/app"),
        ),
        gets("/", "/b", "/c"),
    ),
    Case(
        "expression-exact-root-of-older",
        (
            ingress({"Exact:/": "exact"}, name="z", use_regex="true"),
            ingress({"/": "prefix"}, name="a"),
        ),
        gets("/", "/b"),
    ),
    Case(
        "app-root-without-paths",
        (without_paths(ingress(name="z", app_root="/app")), ingress({"/b": "b"}, name="a")),
        gets("/", "/app", "/b"),
    ),
    Case(
        "app-root-without-paths-beside-root",
        (without_paths(ingress(name="z", app_root="/app")), ingress(name="a")),
        gets("/", "/app"),
    ),
    Case(
        "app-root-without-paths-beside-exact",
        (without_paths(ingress(name="z", app_root="/app")), ingress({"Exact:/": "web"}, name="a")),
        gets("/", "/app"),
    ),
    Case(
        "app-root-without-paths-younger",
        (ingress({"/b": "b"}, name="z"), without_paths(ingress(name="a", app_root="/app"))),
        gets("/", "/app", "/b"),
    ),
    Case(
        "app-root-beside-younger-exact",
        (ingress(name="z", app_root="/app"), ingress({"Exact:/": "exact"}, name="a")),
        gets("/", "/app"),
    ),
    Case(
        "app-root-beside-younger-exact-with-its-own",
        (ingress(name="z", app_root="/app"), ingress({"Exact:/": "exact"}, name="a", app_root="/exact")),
        gets("/", "/app"),
    ),
    Case(
        "app-root-beside-older-exact-with-its-own",
        (ingress({"Exact:/": "exact"}, name="z", app_root="/exact"), ingress(name="a", app_root="/app")),
        gets("/", "/app"),
    ),
    Case(
        "app-root-twice-root-first",
        (ingress(name="z", app_root="/app"), ingress({"/b": "b"}, name="a", app_root="/b")),
        gets("/", "/b"),
    ),
    Case(
        "app-root-twice-root-last",
        (ingress({"/b": "b"}, name="z", app_root="/b"), ingress(name="a", app_root="/app")),
        gets("/", "/b"),
    ),
    Case(
        "app-root-twice-prefixes",
        (ingress({"/b": "b"}, name="z", app_root="/b"), ingress({"/c": "c"}, name="a", app_root="/c")),
        gets("/", "/b", "/c"),
    ),
    Case(
        "app-root-twice-longer-first",
        (ingress({"/bb": "b"}, name="z", app_root="/b"), ingress({"/c": "c"}, name="a", app_root="/c")),
        gets("/", "/bb", "/c"),
    ),
    Case(
        "app-root-twice-longer-last",
        (ingress({"/b": "b"}, name="z", app_root="/b"), ingress({"/cc": "c"}, name="a", app_root="/c")),
        gets("/", "/b", "/cc"),
    ),
    Case(
        "app-root-twice-without-paths",
        (without_paths(ingress(name="z", app_root="/bare")), ingress({"/c": "c"}, name="a", app_root="/app")),
        gets("/", "/app", "/c"),
    ),
    Case(
        "app-root-twice-without-paths-beside-exact",
        (
            without_paths(ingress(name="z", app_root="/bare")),
            ingress({"Exact:/": "c"}, name="a", app_root="/app"),
        ),
        gets("/", "/app"),
    ),
    Case(
        "app-root-twice-one-path",
        (
            ingress({"/": "root"}, name="y"),
            ingress({"/c": "c"}, name="z", app_root="/first"),
            ingress({"Exact:/c": "exact"}, name="a", app_root="/second"),
        ),
        gets("/", "/first", "/c"),
    ),
    Case(
        "app-root-twice-beside-expressions",
        (
            ingress(
                {"/b(.*)": "b"}, kind="ImplementationSpecific", name="z", use_regex="true", app_root="/b"
            ),
            ingress({"/": "root"}, name="b", app_root="/root"),
            ingress({"/longest": "c"}, name="a", app_root="/c"),
        ),
        gets("/", "/b", "/longest"),
    ),
    Case(
        "app-root-twice-mixed",
        (
            ingress({"/bb": "lost", "/a": "b"}, name="y", app_root="/y"),
            ingress({"/bb": "lost", "/b": "b"}, name="z", app_root="/z"),
            ingress({"Exact:/": "exact"}, name="a"),
        ),
        gets("/", "/bb", "/a", "/b"),
    ),
    Case(
        "app-root-of-nobody",
        (ingress(name="z", use_regex="true"), ingress({"/": "lost"}, name="a", app_root="/app")),
        gets("/", "/app"),
    ),
    Case(
        "rule-without-http-makes-expressions",
        (without_paths(ingress(name="z", use_regex="true")), ingress({"Exact:/foo": "web"}, name="a")),
        gets("/foo", "/FOObar", "/b"),
    ),
    Case(
        "rule-without-http-rewrites",
        (without_paths(ingress(name="z", rewrite_target="/$1")), ingress({"Exact:/foo": "web"}, name="a")),
        gets("/foo", "/FOObar", "/b"),
    ),
    Case(
        "rule-without-http-beside-root",
        (
            without_paths(ingress(name="z", use_regex="true")),
            ingress({"Exact:/foo": "foo", "/": "web"}, name="a"),
        ),
        gets("/foo", "/FOObar", "/foobar", "/b"),
    ),
    Case(
        "rule-without-http-beside-older",
        (ingress({"/b": "web"}, name="z"), without_paths(ingress(name="a", use_regex="true"))),
        gets("/b", "/bx", "/B"),
    ),
    Case(
        "rule-without-http-has-pages",
        (
            without_paths(ingress(custom_http_errors="404,503", default_backend="errors")),
            ingress({"/": "all"}, host="", name="all"),
        ),
        gets("/", "/a"),
        answers={"errors": {}},
        told=(Told("answer.status", ERRORS), Told("endpoints", ERRORS)),
        alone=True,
    ),
    Case(
        "app-root-beside-expressions",
        (
            ingress({"/(.*)": "all"}, kind="ImplementationSpecific", name="all", use_regex="true"),
            ingress({"/b": "b"}, name="b", app_root="/app"),
        ),
        gets("/", "/?a", "/app", "/b", "/c"),
    ),
    Case(
        "server-alias-of-wildcard",
        (ingress(host="*.HOST", server_alias="HOST,alias-of-wildcard.test"),),
        (
            Ask(host="a.HOST"),
            Ask(host="HOST"),
            Ask("/a?b", host="alias-of-wildcard.test"),
            Ask(host="other.test"),
        ),
    ),
    Case(
        "server-alias-of-several",
        (
            of_hosts(
                ingress({"/": "last"}, host="z.HOST", server_alias="alias.HOST"),
                ingress({"/": "first"}, host="b.HOST"),
            ),
        ),
        (Ask(host="alias.HOST"), Ask(host="z.HOST"), Ask(host="b.HOST")),
    ),
)
