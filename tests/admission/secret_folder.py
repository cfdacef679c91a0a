"""A folder in which a Secret is mounted, as the kubelet does it."""

import os
from pathlib import Path


class SecretFolder:
    """``tls.crt`` and ``tls.key`` below *path*, which is made."""

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        self._path.mkdir(parents=True)
        self._count = 0
        for name in ("tls.crt", "tls.key"):
            (self._path / name).symlink_to(Path("..data") / name)

    @property
    def certificate(self) -> str:
        """The path of the certificate."""
        return str(self._path / "tls.crt")

    @property
    def key(self) -> str:
        """The path of its key."""
        return str(self._path / "tls.key")

    def swap(self, chain: bytes | None, key: bytes | None) -> None:
        """Have another folder with these files stand behind the links; None for a file that is not there."""
        self._count += 1
        folder = self._path / f"..{self._count}"
        folder.mkdir()
        for name, content in (("tls.crt", chain), ("tls.key", key)):
            if content is not None:
                (folder / name).write_bytes(content)
        link = self._path / "..draft"
        link.symlink_to(folder.name)
        os.replace(link, self._path / "..data")
