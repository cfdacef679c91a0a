"""What ``setup.cfg`` cannot say: that wheels hold machine code.  Metadata stand there, and what is compiled in ``compiling/``."""

import sys

from setuptools import setup

from compiling.extensions import extensions

setup(ext_modules=extensions(sys.argv))
