"""Cases of manifests that somebody has: the Ingresses of a file, and requests for each of their paths.

Nothing is told of them: what differs is to be read beside the documents.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from conformance.cluster import Object
from conformance.ingress_nginx.case import CLASS, Ask, Case

KINDS = ("Ingress", "ConfigMap", "Secret")
OLD_CLASS = "kubernetes.io/ingress.class"
LITERAL = re.compile(r"[A-Za-z0-9/._~-]*")
MOST_PATHS = 30
"""Of one file; all others are left out."""


def cases_of_files(folder: Path) -> Iterator[Case]:
    """One of each file of a folder, in the order of their names.  Raises OSError, and ``yaml.YAMLError`` for a file that is none."""
    for number, file in enumerate(sorted(folder.rglob("*.y*ml"))):
        case = case_of(
            f"file-{number}-{'-'.join(re.findall('[a-z0-9]+', file.stem.lower()))}"[:48], documents(file)
        )
        if case is not None:
            yield case


def documents(file: Path) -> Iterator[Object]:
    """The objects of a file, those of lists included; what has no name is none."""
    for document in yaml.safe_load_all(file.read_text("utf-8")):
        if isinstance(document, dict):
            things = document.get("items") or () if document.get("kind") == "List" else (document,)
            yield from (thing for thing in things if (thing.get("metadata") or {}).get("name"))


def case_of(name: str, things: Iterable[Object]) -> Case | None:
    """A case of what both controllers read, or None where nothing of that is an Ingress of today's version."""
    kept = [
        thing
        for thing in things
        if thing.get("kind") in KINDS and thing.get("apiVersion") in ("v1", "networking.k8s.io/v1")
    ]
    objects = {(thing["kind"], thing["metadata"]["name"]): own(thing) for thing in kept}
    ingresses = [thing for (kind, _), thing in objects.items() if kind == "Ingress"]
    if not ingresses:
        return None
    return Case(name, tuple(objects.values()), tuple(asks_of(ingresses))[: 3 * MOST_PATHS])


def own(thing: Object) -> Object:
    """The object for the namespace of its case, of the class that is served, and with hosts that no other case has."""
    metadata = thing["metadata"]
    annotations = {
        key: str(value) for key, value in (metadata.get("annotations") or {}).items() if key != OLD_CLASS
    }
    kept: Object = {**thing, "metadata": {"name": metadata["name"], "annotations": annotations}}
    kept.pop("status", None)
    if thing["kind"] != "Ingress":
        return kept
    spec: dict[str, Any] = {**thing["spec"], "ingressClassName": CLASS}
    if spec.get("rules"):
        spec["rules"] = [{**rule, "host": own_host(rule.get("host", ""))} for rule in spec["rules"]]
    if spec.get("tls"):
        spec["tls"] = [
            {**one, "hosts": [own_host(host) for host in one.get("hosts") or ()]} for one in spec["tls"]
        ]
    return {**kept, "spec": spec}


def own_host(host: str) -> str:
    return f"{host}.HOST" if host else "HOST"


def asks_of(ingresses: Iterable[Mapping[str, Any]]) -> Iterator[Ask]:
    """For each path: itself, what is below, and itself over HTTPS; of an expression, what it begins with."""
    seen = set()
    for ingress in ingresses:
        for rule in ingress["spec"].get("rules") or ():
            host = rule["host"].replace("*", "any")
            for path in (rule.get("http") or {}).get("paths") or ({"path": "/"},):
                found = LITERAL.match(path.get("path") or "/")
                target = (found[0] if found else "") or "/"
                if (host, target) not in seen:
                    seen.add((host, target))
                    yield Ask(target, host=host)
                    yield Ask(f"{target.rstrip('/')}/x?y=1", host=host)
                    yield Ask(target, host=host, secure=True, server_name=host)
