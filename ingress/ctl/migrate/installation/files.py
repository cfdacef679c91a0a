"""The kustomization that puts this controller into the place of an ingress-nginx, as files of a directory."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from ingress.ctl.migrate.migration import ArgumentsReport

INSTALLATION: Final = "installation"
"""The folder of that directory."""
is_of_installation: Final = re.compile(r"kustomization\.yaml|service(?:-[a-z0-9-]*)?\.yaml").fullmatch
"""Whether a file in that folder is one of these."""


def installation_files(reports: Sequence[ArgumentsReport]) -> Mapping[str, str]:
    """Return the texts of all files by their names below the directory: those of the first, by which objects are judged."""
    return {f"{INSTALLATION}/{name}": text for one in reports[:1] for name, text in one.files.items()}
