"""Content codings: what compresses a body piece by piece (RFC 9110 section 8.4.1, RFC 7932, RFC 8878).

All of what was fed is out when ``feed`` returns, so that nothing is held back that a client waits for, as in nginx where answers
are not buffered.  What an encoder holds is bounded by windows of at most 512 KiB, as in ingress-nginx, and by the levels that are let
in: 0.3 MiB for gzip, 1.2 for brotli and 0.9 for zstd at their usual levels, and 3.3 MiB for any.

Only gzip comes with Python.  The others are there where their packages are.
"""

import zlib
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, Protocol

WINDOW_BITS: Final = 19
"""Of brotli, ..."""
ZSTD_SIZE: Final = 256 * 1024
"""... and what zstd takes the length of bodies to be, by which it chooses its tables."""

_PACKAGES: Final = {"br": "brotli", "zstd": "zstandard"}
_GZIP_WINDOW_BITS: Final = 15
_GZIP_LEAST_BITS: Final = 9
_GZIP_FRAME: Final = 16
_GZIP_MEMORY: Final = 8
_SLACK: Final = 262


class Encoder(Protocol):
    """Compresses one body."""

    def feed(self, piece: bytes) -> bytes:
        """Return what *piece* comes to, all of it."""

    def finish(self) -> bytes:
        """Return the end."""


def missing_package(coding: str) -> str:
    """Return the package that *coding* needs and that is not installed; empty where nothing is missing."""
    package = _PACKAGES.get(coding, "")
    return package if package and find_spec(package) is None else ""


def encoder_maker(coding: str, level: int) -> Callable[[int | None], Encoder]:
    """Return what makes encoders of *coding* at *level*, for bodies of a length, or None where that is not known.

    Raises ``ImportError`` where its package is not installed.
    """
    if coding == "gzip":
        return lambda length: _Gzip(level, length)
    package: Any = import_module(_PACKAGES[coding])
    if coding == "br":
        return lambda length: _Brotli(package.Compressor(quality=level, lgwin=WINDOW_BITS))
    parameters = package.ZstdCompressionParameters.from_level(level, source_size=ZSTD_SIZE)
    block = package.COMPRESSOBJ_FLUSH_BLOCK
    # One compressor has room for one body at a time.
    return lambda length: _Zstd(package.ZstdCompressor(compression_params=parameters).compressobj(), block)


class _Gzip:
    def __init__(self, level: int, length: int | None) -> None:
        bits, memory = _GZIP_WINDOW_BITS, _GZIP_MEMORY
        # A small body needs no large window, which would cost more than the body does (nginx does the same).
        while length is not None and bits > _GZIP_LEAST_BITS and length < (1 << bits - 1) - _SLACK:
            bits, memory = bits - 1, max(1, memory - 1)
        self._encoder = zlib.compressobj(level, zlib.DEFLATED, bits + _GZIP_FRAME, memory)

    def feed(self, piece: bytes) -> bytes:
        return self._encoder.compress(piece) + self._encoder.flush(zlib.Z_SYNC_FLUSH)

    def finish(self) -> bytes:
        return self._encoder.flush()


class _Brotli:
    def __init__(self, encoder: Any) -> None:
        self._encoder = encoder

    def feed(self, piece: bytes) -> bytes:
        octets: bytes = self._encoder.process(piece) + self._encoder.flush()
        return octets

    def finish(self) -> bytes:
        octets: bytes = self._encoder.finish()
        return octets


class _Zstd:
    def __init__(self, encoder: Any, block: int) -> None:
        self._encoder = encoder
        self._block = block

    def feed(self, piece: bytes) -> bytes:
        octets: bytes = self._encoder.compress(piece) + self._encoder.flush(self._block)
        return octets

    def finish(self) -> bytes:
        octets: bytes = self._encoder.flush()
        return octets
