"""``python -m examples.demo``, from the top directory of the repository."""

import sys

from examples.demo.demo import main

sys.exit(main())
