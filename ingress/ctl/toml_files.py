"""Files of TOML that a person wrote for ``ingressctl``: read in bounds, and whatever is wrong is a mistake in one line."""

import os
import re
import stat
from typing import Any, Final

from ingress.ctl.errors import Mistake
from ingress.ctl.terminal import printable

MAX_BYTES: Final = 1 << 20
_LINE: Final = re.compile(r"at line ([0-9]+)")


def read_toml(path: str, name: str, *, is_secret: bool = False) -> dict[str, Any]:
    """Return the tables of the file *path*, which messages call *name*; raises ``Mistake``.

    One that *is_secret* may be read by nobody else, and no message has anything of what is in it.
    """
    import tomllib  # most runs have no such file, and need not wait for its reader

    name = printable(name)
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if is_secret and stat.S_ISREG(status.st_mode) and stat.S_IMODE(status.st_mode) & 0o077:
                raise Mistake(f"{name}: others than you may read or write it; chmod 600 {printable(path)}")
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise Mistake(f"{name}: {error.strerror}") from None
    if len(content) > MAX_BYTES:
        raise Mistake(f"{name}: it is larger than {MAX_BYTES >> 20} MiB")
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        raise Mistake(f"{name}: it is not UTF-8, at byte {error.start}") from None
    except RecursionError:
        raise Mistake(f"{name}: it is nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        if not is_secret:
            raise Mistake(f"{name}: {printable(str(error))}") from None
        found = _LINE.search(str(error))
        raise Mistake(f"{name}: it is no TOML{f' at line {found[1]}' if found else ''}") from None
