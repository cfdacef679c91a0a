"""The build backend (PEP 517): setuptools' own, which besides asks for what compiling takes, where something will be compiled.

The compiler reads types, also those of what is imported: all that the package requires has to be there, and what the
extra ``compile`` of ``setup.cfg`` names.  Whoever builds plain Python downloads none of that.  An editable installation is plain:
there, what is edited is what runs.
"""

import os
from configparser import ConfigParser
from pathlib import Path

from setuptools.build_meta import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from setuptools.build_meta import get_requires_for_build_wheel as _plain_requires

from compiling.wish import is_compiled

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

Settings = dict[str, str | list[str] | None] | None


def requirements_to_compile(text: str) -> list[str]:
    """Return what compiling needs, by *text*, the content of ``setup.cfg``."""
    config = ConfigParser()
    config.read_string(text)
    lists = config["options"]["install_requires"], config["options.extras_require"]["compile"]
    return [line for part in lists for line in part.splitlines() if line and not line.startswith("#")]


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """Return what has to be installed where a wheel is built."""
    required = list(_plain_requires(config_settings))
    if is_compiled(os.environ):
        required += requirements_to_compile(Path("setup.cfg").read_text("utf-8"))
    return required
