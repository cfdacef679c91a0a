"""What is kept of toy routes and of their doors."""

from attrs import frozen

from ingress.model.objects import Kind, ObjectKey, Owner

TOY_ROUTE = Kind("ToyRoute")
TOY_DOOR = Kind("ToyDoor")


@frozen
class ToyDoor:
    """A door, by which toy routes may be reached."""

    key: ObjectKey
    port: int


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
