"""Which class of ours may be meant by one that is not, and which controller by that of an IngressClass.  Pure."""

import shlex
from difflib import get_close_matches
from functools import cached_property
from typing import Final

from ingress.annotations.contract.values import quoted
from ingress.ctl.suggestions.close_names import CloseNames, is_slip
from ingress.model.cluster.state import ClusterState
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.ingress.classes import controller_of, is_class_ours
from ingress.translate.readers.ingress.objects import IngressClass, classes_of
from ingress.wording import first_of

_BETWEEN: Final = "/"
"""Between words of a name, as in no name of a class: one with a word more is another class."""
_CLOSE: Final = 0.9
"""How much of a controller is to be that of ours: ingress-gce has much of ingress-nginx."""
_MOST_CLASSES: Final = 3


class SuggestedClasses:
    """The classes of *state* that a controller with *options* serves, and what may be meant by others."""

    def __init__(self, state: ClusterState, options: TranslateOptions) -> None:
        self._state = state
        self._options = options
        self._close_to: dict[str, tuple[str, ...]] = {}

    @cached_property
    def _ours(self) -> tuple[str, ...]:
        """The names by which an Ingress is ours, that of the option first."""
        named, classes = self._options.ingress_class, classes_of(self._state)
        ours = {key.name for key, one in classes.items() if is_class_ours(one, self._options)}
        is_named = named in ours or controller_of(named, self._state) is None
        return (*([named] if is_named else []), *sorted(ours - {named}))

    @cached_property
    def _names(self) -> CloseNames:
        return CloseNames(self._ours, _BETWEEN)

    def _close(self, name: str) -> tuple[str, ...]:
        """Return the classes of ours that are close to *name*, which many Ingresses may have."""
        if name not in self._close_to:
            self._close_to[name] = self._names.close_to(name)
        return self._close_to[name]

    @cached_property
    def judged(self) -> str:
        """Say which classes are judged."""
        some = first_of([quoted(name) for name in self._ours], _MOST_CLASSES)
        if not some:
            return f"only classes of the controller {quoted(self._options.controller_class)} are judged"
        return f"only class {some} is judged" if len(self._ours) == 1 else f"only classes {some} are judged"

    def slip(self, name: str) -> str:
        """Return the class of ours that is surely meant by *name*, of which there is no IngressClass; empty for none."""
        if controller_of(name, self._state) is not None:
            return ""
        return next((meant for meant in self._close(name) if is_slip(name, meant)), "")

    def close(self, name: str) -> str:
        """Return the class of ours that may be meant by *name*, of which there is no IngressClass; empty for none."""
        return next((meant for meant in self._close(name) if not _adds_to(name, meant)), "")

    def is_mistyped(self, one: IngressClass) -> bool:
        """Whether the controller of *one* is surely meant to be ours, where that decides."""
        return not is_class_ours(one, self._options) and is_slip(
            one.controller, self._options.controller_class
        )

    def meant(self, name: str) -> str:
        """Ask what may be meant by the class *name*, which is not ours; empty where nothing is close."""
        controller, ours = controller_of(name, self._state), self._options.controller_class
        if controller is None:
            meant = self.slip(name) or self.close(name)
            return f"did you mean {meant}?" if meant else ""
        is_meant = is_slip(controller, ours) or (
            _is_close(controller, ours) and not _adds_to(controller, ours)
        )
        return f"did you mean {ours} as the controller of IngressClass {name}?" if is_meant else ""

    def advice(self, name: str) -> str:
        """Say how Ingresses of the class *name*, which is not ours, are judged, and what may be meant by it."""
        # The name decides nothing where there is a class of it.
        controller = controller_of(name, self._state)
        if controller == "":
            return ""
        judged = (
            f"to have class {name} judged: {_option('ingress-class', name)}"
            if controller is None
            else f"to have its classes judged: {_option('controller-class', controller)}"
        )
        meant = self.meant(name)
        return f"{meant} Otherwise, {judged}" if meant else judged


def _is_close(controller: str, ours: str) -> bool:
    return controller != ours and bool(get_close_matches(controller[: 2 * len(ours)], [ours], 1, _CLOSE))


def _adds_to(name: str, meant: str) -> bool:
    """Whether *name* is *meant* with something added, as nginx-internal, my-nginx and nginx2 are classes beside nginx."""
    before, has_it, behind = name.partition(meant)
    more = before + behind
    return bool(has_it) and not (len(more) == 1 and more.isalpha())


def _option(name: str, value: str) -> str:
    """Return the option of the controller as a shell takes it."""
    return f"-o {shlex.quote(f'{name}={value}')}"
