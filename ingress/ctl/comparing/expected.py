"""What is expected of this side by the objects that are given: the explanation of a request, in a sentence.  Pure."""

from ingress.ctl.comparing.differences import Compared
from ingress.ctl.comparing.samples import Sample
from ingress.ctl.inputs.input import Input
from ingress.explain.asked_request import Asked
from ingress.explain.explaining import explain
from ingress.explain.explanation import End, Outcome
from ingress.explain.served import Served, served_by
from ingress.explain.urls import AskedUrl
from ingress.plain_data.secret_fields import tells_of_secrets

_PORTS = {"http": 80, "https": 443}


class Expected:
    """Explains requests by the objects of *given*; without any nothing is expected."""

    def __init__(self, given: Input | None) -> None:
        self._layers = () if given is None else given.layers
        self._served: list[Served] | None = None

    def of(self, compared: Compared) -> str:
        """Say what becomes of the request here; empty where nothing is known.

        Where the controller that runs answered otherwise, it has other objects or options than those that are given,
        which is said, too.
        """
        outcome = self._outcome(compared.sample)
        if outcome is None:
            return ""
        is_certain = outcome.end is End.ANSWERED and outcome.status is not None and not outcome.conditions
        if is_certain and compared.our_status not in (0, outcome.status):
            return (
                f"{outcome.sentence}; but the controller that runs answered {compared.our_status}: it has other objects or"
                " options than those that are given here"
            )
        return outcome.sentence

    def _outcome(self, sample: Sample) -> Outcome | None:
        """Return what the first of all layers that takes *sample* does with it, or else the first."""
        if self._served is None:
            self._served = [
                served_by(layer.settings, layer.state, layer.now, layer.coverage) for layer in self._layers
            ]
        found = [explain(_asked(sample), served).outcome for served in self._served]
        return next((one for one in found if one.is_taken), found[0] if found else None)


def _asked(sample: Sample) -> Asked:
    """Return *sample* as a request to be explained, without what is secret in it."""
    host = sample.name
    url = AskedUrl(
        sample.scheme, host, _PORTS[sample.scheme], sample.host.encode(), sample.target.encode("latin-1")
    )
    fields = tuple(
        (name.encode(), value.encode("latin-1"))
        for name, value in sample.fields
        if not tells_of_secrets(name)
    )
    return Asked(url, sample.method.encode(), fields)
