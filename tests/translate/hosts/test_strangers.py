"""What an Ingress of another namespace cannot change about a host, by chance: a host belongs to the namespace of its oldest rule."""

from random import Random

from attrs import evolve
from twisted.trial.unittest import SynchronousTestCase

from ingress.model.cluster.objects import ObjectKey
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.objects import Ingress, IngressTLS
from ingress.translate.snapshot import Snapshot
from tests.translate.following import Follower, tls_secret
from tests.translate.tls.test_client_authentication import ingress

HOSTS = ("a.test", "b.test", "*.test", "*.a.test", "x.a.test")
OF_A_HOST = {
    "app_root": "/theirs",
    "force_ssl_redirect": "true",
    "from_to_www_redirect": "true",
    "ssl_passthrough": "true",
    "use_regex": "true",
}
MINE = tls_secret("mine", *HOSTS)
SECRETS = (MINE, evolve(MINE, key=ObjectKey("other", "theirs")))
OPTIONS = TranslateOptions(ssl_passthrough=True)


def what_is_served(found: Snapshot, host: str) -> tuple[object, ...]:
    """Return what a client meets at a name of *host*: certificates, handshake, and where paths below ``/p`` go."""
    name = host.replace("*", "q")
    routes = [found.table.find(name.encode(), path) for path in (b"/p", b"/p/x")]
    went = [(one.owner, one.path, one.match, one.filters) for one in routes if one is not None]
    return found.certificates.find(name), found.handshake_settings.find(name), went


class StrangersTests(SynchronousTestCase):
    """Sets of two Ingresses."""

    def mine(self, chance: Random, host: str) -> Ingress:
        """Return what a host is served by."""
        annotations = {key: value for key, value in OF_A_HOST.items() if chance.random() < 0.2}
        path = "/(.*)" if "use_regex" in annotations else chance.choice(("/", "/p"))
        tls = (IngressTLS((host,), "mine"),) if chance.random() < 0.6 else ()
        return evolve(ingress("a", path, host=host, **annotations), tls=tls)

    def theirs(self, chance: Random) -> Ingress:
        """Return what would like to have hosts of others: by rules, aliases, and what is said of a host as a whole."""
        annotations = {key: value for key, value in OF_A_HOST.items() if chance.random() < 0.4}
        annotations["server_alias"] = ",".join(chance.sample(HOSTS, 2))
        host = chance.choice(("*.theirs.test", "theirs.test", *HOSTS))
        tls = (IngressTLS(tuple(chance.sample(HOSTS, 2)), "theirs"),) if chance.random() < 0.7 else ()
        made = ingress("younger", "/q", host=host, **annotations)
        return evolve(made, key=ObjectKey("other", "younger"), tls=tls)

    def test_the_younger_stranger_changes_nothing_there(self) -> None:
        """Neither TLS nor what paths of the host lead to, and how; if it were the older one, it would."""
        chance = Random(7)
        changed_by_older = 0
        for _ in range(300):
            host = chance.choice(HOSTS)
            mine, theirs = self.mine(chance, host), self.theirs(chance)
            alone = self.served(host, mine)
            self.assertEqual(self.served(host, mine, theirs), alone, (mine, theirs))
            older = evolve(theirs, created="2019-01-01T00:00:00Z")
            changed_by_older += self.served(host, mine, older) != alone
        self.assertGreater(changed_by_older, 50)

    def served(self, host: str, *ingresses: Ingress) -> tuple[object, ...]:
        """Return what is served at a host where there are these."""
        return what_is_served(Follower(OPTIONS, [*SECRETS, *ingresses]).expected(), host)
