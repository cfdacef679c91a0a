"""The normal form of what is served, for people: without what is as usual everywhere."""

import json
from typing import Any, Final

from ingress.ctl.inputs.input import Input
from ingress.ctl.served.normal_form import Data, served
from ingress.ctl.served.pairing import named_layers
from ingress.identity.server_names import PLAIN_HANDSHAKE
from ingress.model.serving.limits import Timeouts
from ingress.model.serving.serving_settings import ServingSettings
from ingress.model.upstream.balancing import DEFAULT_BALANCING
from ingress.model.upstream.retries import DEFAULT_RETRIES
from ingress.plain_data.values import settings_as_data, whole

_USUAL: Final[Data] = {
    "timeouts": whole(settings_as_data(Timeouts())),
    "retries": whole(settings_as_data(DEFAULT_RETRIES)),
    "balancing": whole(settings_as_data(DEFAULT_BALANCING)),
    "handshake": whole(settings_as_data(PLAIN_HANDSHAKE)),
    "isLogged": True,
}
_USUAL_SETTINGS: Final[Data] = whole(settings_as_data(ServingSettings()))
_WHOLE: Final = frozenset({"settings"})
"""Fields in which nothing is left out: what is empty in the settings of a filter says something."""


def rendered(given: Input, *, endpoints: bool, full: bool) -> Data:
    """Return the normal form of *given*; of several layers, those by their names.

    Unless it is to be *full*, what is empty, and what routes, hosts and the controller have by default, is left out.
    """
    layers = named_layers(given, "")
    forms = {}
    for name, layer in sorted(layers.items()):
        form = served(layer, endpoints=endpoints)
        forms[name] = form if full else _unusual(form)
    return forms if len(forms) > 1 else next(iter(forms.values()))


def _unusual(form: Data) -> Data:
    settings = _other(form["settings"], _USUAL_SETTINGS)
    return _kept({**form, "settings": settings})


def _other(settings: Data, usual: Data) -> Data:
    """Return those of *settings* that are others than the *usual* ones."""
    found: Data = {}
    for name, value in settings.items():
        if isinstance(value, dict) and isinstance(usual.get(name), dict):
            value = _other(value, usual[name])
            if value:
                found[name] = value
        elif value != usual.get(name):
            found[name] = value
    return found


def _kept(data: Data) -> Data:
    """Return *data* without what is empty or as usual."""
    found: Data = {}
    for name, value in data.items():
        if name in _WHOLE and value:
            found[name] = value
        elif value not in (None, "", [], {}) and value != _USUAL.get(name):
            found[name] = _parts(value)
    return found


def _parts(value: Any) -> Any:
    if isinstance(value, dict):
        return _kept(value)
    return [_parts(one) for one in value] if isinstance(value, list) else value


def as_json(form: Data) -> str:
    """Return a normal form as JSON."""
    return json.dumps(form, indent=2)


def as_yaml(form: Data) -> str:
    """Return a normal form as YAML, in characters that no terminal acts on."""
    import yaml

    dumper: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    text: str = yaml.dump(form, Dumper=_unaliased(dumper), sort_keys=False, width=120)
    return text.rstrip("\n")


def _unaliased(dumper: Any) -> Any:
    """Return *dumper* without anchors: what is shared is written wherever it is."""
    return type("UnaliasedDumper", (dumper,), {"ignore_aliases": lambda self, data: True})
