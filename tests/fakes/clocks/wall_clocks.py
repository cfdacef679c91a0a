"""A time of day that a test moves while a process runs: a library that is loaded before the system's own.

It answers ``time``, ``gettimeofday`` and ``clock_gettime`` for the real-time clocks, which CPython and OpenSSL ask, with
an offset that stands in a file that the process has mapped.  Monotonic clocks stay as they are, as when somebody sets the clock.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *moved;

__attribute__((constructor)) static void map_offset(void) {
    const char *path = getenv("MOVED_CLOCK");
    int descriptor = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (descriptor < 0)
        return;
    void *mapped = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (mapped != MAP_FAILED)
        moved = mapped;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (!failed && moved && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += *moved;
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    if (clock_gettime(CLOCK_REALTIME, &exact))
        return -1;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *stored) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (stored)
        *stored = exact.tv_sec;
    return exact.tv_sec;
}
"""


class MovedClock:
    """The clock on the wall of the processes that get *environment*; *directory* holds its files.

    *missing* says why there cannot be one here, and is empty where there is one.
    """

    def __init__(self, directory: Path) -> None:
        self._library = directory / "moved_clock.so"
        self._offset = directory / "moved_clock"
        self.missing = ""
        self.environment: dict[str, str] = {}
        compiler = shutil.which("cc")
        if not sys.platform.startswith("linux") or compiler is None:
            self.missing = "needs Linux and a C compiler, cc"
            return
        source = directory / "moved_clock.c"
        source.write_text(SOURCE)
        command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(self._library), str(source)]
        made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        if made.returncode:
            self.missing = f"cc makes no library: {made.stderr.strip()}"
            return
        self.move(0)
        self.environment = {"LD_PRELOAD": str(self._library), "MOVED_CLOCK": str(self._offset)}
        # Not every interpreter asks the library: a static one would make the test prove nothing.
        self.move(86_400)
        asked = [sys.executable, "-c", "import time; print(time.time())"]
        told = subprocess.run(
            asked, env={**os.environ, **self.environment}, capture_output=True, check=True, timeout=60
        )
        if abs(float(told.stdout) - float(subprocess.check_output(asked)) - 86_400) > 3600:
            self.missing = "this interpreter does not ask the system's library for the time"
        self.move(0)

    def move(self, seconds: int) -> None:
        """Let it be so many seconds later, or earlier, than it is."""
        octets = seconds.to_bytes(8, sys.byteorder, signed=True)
        if not self._offset.exists():
            self._offset.write_bytes(octets)
        else:
            # In place: the process has this very file mapped.
            with self._offset.open("r+b") as file:
                file.write(octets)
