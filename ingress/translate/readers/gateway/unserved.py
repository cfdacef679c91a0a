"""The reader of kinds that are kept, and of which nothing is served."""

from collections.abc import Hashable

from ingress.annotations.annotations import DEFAULTS
from ingress.model.objects import ClusterObject, Kind, Owner
from ingress.model.secrets import Needs
from ingress.model.state import ClusterState
from ingress.translate.claims import ParsedObject
from ingress.translate.options import TranslateOptions
from ingress.translate.readers.reader import Verdict


class UnservedReader:
    """Takes no object for ours."""

    def __init__(self, options: TranslateOptions) -> None:
        """Nothing of *options* makes a difference."""

    def judge(self, value: ClusterObject, state: ClusterState, /) -> Verdict:
        """None is ours."""
        return Verdict(False)

    def class_of(self, value: ClusterObject, /) -> Hashable:
        """Nothing decides."""
        return None

    def read(self, value: ClusterObject, related: Hashable, /) -> ParsedObject:
        """Return that it asks for nothing."""
        return ParsedObject(Owner(Kind(""), value.key), value, (), (), None, DEFAULTS, ())

    def needs(self, value: ClusterObject, kind: Kind, /) -> Needs:
        """Nothing is needed."""
        return {}

    def why_nothing(self, state: ClusterState, /) -> str:
        """Nothing is to be said of them."""
        return ""
