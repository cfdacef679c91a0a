"""Tests of hostnames of listeners and routes."""

from hypothesis import given
from hypothesis import strategies as st
from twisted.trial.unittest import SynchronousTestCase

from ingress.translate.readers.gateway.topology.hostnames import Hostnames, most_specific

_LABELS = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=4)
_NAMES = _LABELS.map(".".join)
_HOSTNAMES = st.one_of(_NAMES, _NAMES.map("*.{}".format), st.just(""))


def _covers(hostname: str, host: str) -> bool:
    """Say what the API says: a wildcard stands for any characters and dots, and at least one label."""
    return not hostname or host == hostname or (hostname[:2] == "*." and host.endswith(hostname[1:]))


class HostnamesTests(SynchronousTestCase):
    """What a listener and a route have in common."""

    def test_table(self) -> None:
        """Names and wildcards meet in the more specific of both, over any number of labels."""
        for hostnames, of_listener, both in (
            ((), "", ("",)),
            ((), "a.example.com", ("a.example.com",)),
            (("A.example.com",), "", ("a.example.com",)),
            (("*.specific.com",), "very.specific.com", ("very.specific.com",)),
            (("very.specific.com",), "*.specific.com", ("very.specific.com",)),
            (("foo.bar.wildcard.io",), "*.wildcard.io", ("foo.bar.wildcard.io",)),
            (("wildcard.io",), "*.wildcard.io", ()),
            (("*.wildcard.io",), "wildcard.io", ()),
            (("*.a.io",), "*.io", ("*.a.io",)),
            (("*.io",), "*.a.io", ("*.a.io",)),
            (("xa.io",), "*.a.io", ()),
            (("other.com", "*.other.com"), "a.io", ()),
        ):
            with self.subTest(route=hostnames, listener=of_listener):
                self.assertEqual(Hostnames(hostnames).of(of_listener), both)

    @given(st.lists(_HOSTNAMES, max_size=5), _HOSTNAMES, _NAMES)
    def test_same_as_rule(self, hostnames: list[str], of_listener: str, host: str) -> None:
        """A host is one of both exactly where some hostname of the route and that of the listener cover it."""
        both = Hostnames(hostnames).of(of_listener)
        expected = _covers(of_listener, host) and any(_covers(one, host) for one in hostnames or [""])
        self.assertEqual(any(_covers(one, host) for one in both), expected)

    @given(st.sets(_HOSTNAMES, max_size=6), _NAMES)
    def test_most_specific(self, known: set[str], host: str) -> None:
        """The host belongs to a name before wildcards, to a longer wildcard before a shorter one."""
        covering = [one for one in known if _covers(one, host)]
        best = max(covering, key=lambda one: (one[:2] != "*." and one != "", len(one)), default=None)
        self.assertEqual(most_specific(host, known), best)
