"""Paths: nothing that one decoding turns into ``/admin`` gets past its guard.

The guard answers 403.  Targets that readers are known to resolve differently are 400; a
path that is forwarded goes on as it was received.
"""

from tests.corpus.cases import Case, Seen, forward, get, got, local, refuse


def guarded(target: bytes) -> Case:
    """A target that is the guarded path: 403, or 400 if it can be read in two ways."""
    return Case(
        f"guarded: {target!r}", get(target=target), sees=(Seen(403, None),), refused=(400,), either=True
    )


def ambiguous(target: bytes) -> Case:
    """A target that nobody may resolve."""
    return refuse(f"ambiguous: {target!r}", get(target=target))


def two_routes(target: bytes) -> Case:
    """A target that is the guarded path to whom an encoded slash is a slash, and another one to others."""
    return local(f"two routes: {target!r}", get(target=target), 400)


def passes(target: bytes) -> Case:
    """A target that is another path, and goes on as it is."""
    return forward(f"passes: {target!r}", get(target=target), got(target=target))


def targets(words: str) -> list[bytes]:
    """The targets in a list of words."""
    return [word.encode() for word in words.split()]


_GUARDED = targets("""/admin /admin/ /admin?x /admin/x //admin ///admin /./admin /.//admin /x/../admin
    /x/y/../../admin /x/%2e%2e/admin /x/%2E%2E/admin /x/.%2e/admin /%2e/admin /%61dmin /%61%64%6d%69%6e /admi%6E
    /admin;a=b /admin;/x /admin%3bx /admin%3fx /admin%23 /admin/. /admin/x/..
    /x/..//admin /..//admin /;/admin /x;y/../admin /admin%00 /x/..%2fadmin
    /x%2f..%2fadmin /x/..;/admin /x/..;a=b/admin /x/..%3b/admin /x\\..\\admin /x/..%5cadmin /x/..\\admin
    /\\admin /..%5c..%5cadmin /../admin /x/../../admin /%2e%2e/admin //x/../admin
    http://shop.test/admin http://shop.test//admin http://shop.test/x/../admin""")
_TWO_ROUTES = targets("""/admin%2f /admin%2Fx /%2fadmin /%2F%2fadmin /%2Fadmin%2F""")
_AMBIGUOUS = targets("""/a;b%2fc /a%2f..%2fb /a/./b%2Fc /a%5cb /a\\b /a%00b /a%0 /a% /a%zz /a%u0041 /.. /../ /../../etc/passwd /a/../..
    /a/..;/b /a/..;x/b /%2e%2e""")
_PASSES = targets("""/ADMIN /adminx /admin-x /xadmin /x/admin /x/%252e%252e/admin /%2561dmin /a/ /a/b/../c /a/./b
    /a//b /a%2fb /api/queues/%2F/jobs /@scope%2Fpackage /%2f /x%2fadmin /a%20b /a;b=c/d /a/b/.. /... /a/.../b /.a /a. /a/..b /~user /a%3db
    /%C0%AE%C0%AE/admin""")

CASES: tuple[Case, ...] = (
    *(guarded(target) for target in _GUARDED),
    *(two_routes(target) for target in _TWO_ROUTES),
    *(ambiguous(target) for target in _AMBIGUOUS),
    *(passes(target) for target in _PASSES),
    passes(b"/admin/.."),
    forward("absolute form that passes", get(target=b"http://shop.test/ADMIN"), got(target=b"/ADMIN")),
)
