"""Which layers of two inputs are compared with each other: those of the same folder."""

import os
from collections import Counter
from collections.abc import Iterator

from attrs import evolve

from ingress.ctl.inputs.coverage import Coverage
from ingress.ctl.inputs.input import Input
from ingress.model.cluster.state import ClusterState


def paired(old: Input, new: Input, old_root: str, new_root: str) -> Iterator[tuple[str, Input, Input]]:
    """Yield pairs of layers, each with a name, empty where either side has one alone.

    The roots are what the sides were named by.  A layer that has no counterpart is compared with nothing at all.
    """
    if not old.others and not new.others:
        yield "", old, new
        return
    before, after = named_layers(old, old_root), named_layers(new, new_root)
    lonely = [name for name in before if name not in after], [name for name in after if name not in before]
    if len(lonely[0]) == len(lonely[1]) == 1:
        # Another name of the folder is no other layer.
        after[lonely[0][0]] = after.pop(lonely[1][0])
    for name in sorted({*before, *after}):
        yield name, before.get(name) or _nothing(new), after.get(name) or _nothing(old)


def _nothing(like: Input) -> Input:
    return evolve(like, state=ClusterState(), coverage=Coverage(), places={}, labels={}, others=())


def named_layers(given: Input, root: str) -> dict[str, Input]:
    """Return the layers by the folder of what each has alone, further ones of a folder by the file that has their Ingresses."""
    counts = Counter(
        file for layer in given.layers for file in {place.file for place in layer.places.values()}
    )
    found: dict[str, Input] = {}
    for layer in given.layers:
        files = {place.file for place in layer.places.values() if place.file}
        own = {file for file in files if counts[file] == 1} or files
        name = below(os.path.commonpath([os.path.dirname(file) for file in own]) if own else "", root) or "."
        if name in found:
            # A file of the same folder that has an Ingress otherwise.
            of_routes = {layer.place(object_id).file for object_id, _ in layer.route_objects()}
            name = below(of_routes.pop(), root) if len(of_routes) == 1 else name
        number = 1
        while name in found:
            number += 1
            name = f"{name.partition('#')[0]}#{number}"
        found[name] = evolve(layer, others=())
    return found


def below(path: str, root: str) -> str:
    """Return *path*, a name or a message with names in it, as it is below *root*."""
    root = root.rstrip("/")
    if not root or root == "-":
        return path
    if path == root:
        return ""
    return path.replace(f"{root}/", "")
