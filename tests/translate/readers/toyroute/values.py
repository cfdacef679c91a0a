"""What is kept of toy routes and of their doors."""

from attrs import frozen

from ingress.model.cluster.objects import Kind, ObjectKey, Owner
from ingress.model.network.listeners import Listener

TOY_ROUTE = Kind("ToyRoute")
TOY_DOOR = Kind("ToyDoor")


@frozen
class ToyDoor:
    """A door, by which toy routes may be reached: a listener of its own, where *port* is one."""

    key: ObjectKey
    port: int
    is_secure: bool = False

    @property
    def listener(self) -> Listener | None:
        """The listener, which has a table of its own."""
        if not self.port:
            return None
        return Listener(f"tcp:{self.port}:interface=127.0.0.1", self.is_secure, f"door {self.key}")


@frozen
class ToyRoute:
    """Where requests for a host and a path go; *door* is empty for all of the command line's listeners."""

    key: ObjectKey
    created: str
    host: str
    path: str
    service: str
    port: int
    secret: str = ""
    door: str = ""

    @property
    def owner(self) -> Owner:
        """What stands for it in what it asks for."""
        return Owner(TOY_ROUTE, self.key, self.created)
