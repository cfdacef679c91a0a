"""Fields of raw objects as they are asked for here: what has another shape than the API's is not there.  Pure."""

from ingress.object_fields import RawObject, is_object


def name_of(raw: RawObject) -> str:
    """Return the name of an object; empty where it has none."""
    return _text_of(raw, "name")


def namespace_of(raw: RawObject) -> str:
    """Return the namespace that an object names; empty where it names none."""
    return _text_of(raw, "namespace")


def texts_in(raw: RawObject, name: str) -> dict[str, str]:
    """Return the members of a field that is an object, as far as they and their names are texts."""
    found = object_in(raw, name).items()
    return {key: text for key, text in found if isinstance(key, str) and isinstance(text, str)}


def object_in(raw: RawObject, name: str) -> RawObject:
    """Return a field that is an object; an empty one where it is none."""
    found = raw.get(name)
    return found if is_object(found) else {}


def objects_in(raw: RawObject, name: str) -> list[RawObject]:
    """Return the objects in a field that is a list."""
    found = raw.get(name)
    return [one for one in found if is_object(one)] if isinstance(found, list) else []


def _text_of(raw: RawObject, name: str) -> str:
    found = object_in(raw, "metadata").get(name)
    return found if isinstance(found, str) else ""
