"""What is to be reported back to the cluster, as plain data.

A ``Report`` is about the state of one object, and replaces the last one.  An ``Event`` is about something that
happened, and is told once.  Neither knows what the API server has: whether anything has to
be written is seen when the turn of the object comes (``ingress.status``).
"""

from collections.abc import Mapping
from typing import Any

from attrs import Factory

from ingress.model.cluster.object_meta import Address, Condition
from ingress.model.cluster.objects import ObjectId, ObjectKey
from ingress.model.frozen import frozen


@frozen
class StatusEntry:
    """An entry of a list of a status: the *fields* that tell it from others and whatever else it says, and its conditions."""

    fields: Mapping[str, Any]
    conditions: tuple[Condition, ...]


@frozen
class StatusDocument:
    """What the status of an object is to say, as plain data; its conditions have neither generation nor time.

    *lists* and *fields* are by name.  A field that is not there, or None, is not to be there.  *controller* is the name
    under which we write entries of lists that several controllers write.
    """

    conditions: tuple[Condition, ...] = ()
    lists: Mapping[str, tuple[StatusEntry, ...]] = Factory(dict)
    fields: Mapping[str, Any] = Factory(dict)
    controller: str = ""


@frozen
class Report:
    """What the status of one object is to say: *addresses*, or a *document*.

    *addresses* are those that we publish, None while they are not known.  The status of an object that is not ours is
    to say none of that.
    """

    owner: ObjectId
    is_ours: bool
    addresses: tuple[Address, ...] | None = ()
    document: StatusDocument = StatusDocument()


@frozen
class Event:
    """Something that happened to the object *kind* *key*: a *reason* in one word, and what to know about it.

    *uid* tells the object from another one of that name; empty when it is not known.
    """

    kind: str
    key: ObjectKey
    uid: str
    reason: str
    message: str
    field: str = ""
    type: str = "Warning"
    """``Warning`` or ``Normal``."""
