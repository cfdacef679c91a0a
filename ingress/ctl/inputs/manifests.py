"""Manifests on disk and on standard input, as an input."""

import os
from collections.abc import Sequence
from datetime import datetime

from attrs import evolve

from ingress.cluster.manifests.manifest_listing import display_name, unusable_path
from ingress.cluster.manifests.manifest_scan import scan
from ingress.cluster.store import Store
from ingress.ctl.errors import Mistake
from ingress.ctl.inputs.coverage import covered_by
from ingress.ctl.inputs.input import Input, Place
from ingress.model.objects import ObjectId
from ingress.settings import Settings


def read_manifests(paths: Sequence[str], settings: Settings, now: datetime) -> Input:
    """Read the files *paths*, and those below the directories among them; raises ``Mistake`` where one is neither."""
    fault = unusable_path(paths, [os.path.abspath(path) for path in paths])
    if fault is not None:
        raise Mistake(fault)
    translating = evolve(settings.translate, from_manifests=True)
    found = scan(paths, None, translating.annotations_prefix)
    store = Store()
    store.changed(found.objects)
    places: dict[ObjectId, Place] = {}
    for path, file in found.files.items():
        for one in file.objects:
            places.setdefault(one.id, Place(display_name(path), one.line))
    return Input(
        state=store.state(),
        settings=evolve(settings, translate=translating),
        now=now,
        coverage=covered_by(places),
        places=places,
    )
