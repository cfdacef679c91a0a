"""Inputs out of texts, without files."""

from attrs import evolve

from ingress.ctl.inputs.controller_options import options_from
from ingress.ctl.inputs.coverage import Coverage, covered_by
from ingress.ctl.inputs.input import Input
from ingress.model.cluster.objects import Kind, ObjectId
from ingress.model.cluster.state import ClusterState
from ingress.options.option import DEFAULTS
from ingress.translate.options import TranslateOptions
from tests.translate.golden import NOW, read_state

ALL = Coverage(
    frozenset(
        {Kind.SERVICE, Kind.SECRET, Kind.CONFIG_MAP, Kind.ENDPOINT_SLICE, Kind.INGRESS_CLASS, Kind.INGRESS}
    )
)
"""What an API server tells who may read all."""

SERVICES = """\
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: api, namespace: shop}
spec: {ports: [{name: http, port: 8080}]}
"""


def ingress(
    name: str = "web",
    *,
    host: str = "shop.example.com",
    path: str = "/",
    path_type: str = "Prefix",
    service: str = "web",
    port: str = "number: 80",
    spec: str = "",
    metadata: str = "",
    **annotations: str,
) -> str:
    """Return an Ingress of one path; annotations are named with ``_`` for ``-`` and without prefix."""
    written = ", ".join(
        f'"nginx.ingress.kubernetes.io/{key.replace("_", "-")}": "{value}"'
        for key, value in annotations.items()
    )
    return f"""\
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {name}
  namespace: shop
  annotations: {{{written}}}
  {metadata}
spec:
  ingressClassName: nginx
  {spec}
  rules:
    - host: {host}
      http:
        paths:
          - path: {path}
            pathType: {path_type}
            backend: {{service: {{name: {service}, port: {{{port}}}}}}}
"""


def manifests(*texts: str, options: tuple[str, ...] = ()) -> Input:
    """Return what manifests of *texts* are as an input."""
    state = read_state("\n".join(texts))
    settings = options_from(options).settings
    translating = evolve(settings.translate, from_manifests=True)
    return Input(state, evolve(settings, translate=translating), NOW, covered_by(ids_of(state)))


def live(*texts: str, coverage: Coverage = ALL) -> Input:
    """Return what a cluster with the objects of *texts* is as an input."""
    return Input(read_state("\n".join(texts)), DEFAULTS, NOW, coverage)


def of_state(state: ClusterState, options: TranslateOptions, coverage: Coverage = ALL) -> Input:
    """Return *state* as an input."""
    return Input(state, evolve(DEFAULTS, translate=options), NOW, coverage)


def ids_of(state: ClusterState) -> list[ObjectId]:
    """Return the objects of *state*."""
    found: list[ObjectId] = [(kind, key) for kind, some in state.objects.items() for key in some]
    found += [(Kind.SERVICE, key) for key in state.services]
    found += [(Kind.SECRET, key) for key in state.secrets]
    found += [(Kind.ENDPOINT_SLICE, one.key) for some in state.slices.values() for one in some]
    return found
