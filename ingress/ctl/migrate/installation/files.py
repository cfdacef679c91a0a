"""The kustomizations that put this controller into the place of each ingress-nginx, as files of a directory."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from ingress.ctl.migrate.migration import ArgumentsReport

CONTROLLER: Final = "controller"
MOST_CONTROLLERS: Final = 10
is_of_controller: Final = re.compile(rf"{CONTROLLER}(?:-[0-9]+)?").fullmatch
"""Whether a folder of that directory is one of these."""
is_of_installation: Final = re.compile(
    r"(?:kustomization|scaled-object|network-policies|service(?:-[a-z0-9-]*)?)\.yaml"
).fullmatch
"""Whether a file in such a folder is one of these."""


def installation_files(reports: Sequence[ArgumentsReport]) -> Mapping[str, str]:
    """Return the texts of all files by their names below the directory.

    ``controller/`` is in the place of the one whose arguments count, ``controller-2/`` of the next one.
    """
    return {
        f"{CONTROLLER}{f'-{number}' if number > 1 else ''}/{name}": text
        for number, report in enumerate(reports[:MOST_CONTROLLERS], 1)
        for name, text in report.files.items()
    }
