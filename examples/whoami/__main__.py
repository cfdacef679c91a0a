"""``python -m examples.whoami``."""

from examples.whoami.whoami import main

main()
