"""The tests of txingress.

``INGRESS_EXAMPLES=1000`` tries properties with as many examples, where they do not say themselves how many they need.
"""

import os
from contextlib import suppress

# Fuzzers and benchmarks, which use some of this, are installed without it.
with suppress(ImportError):
    from hypothesis import HealthCheck, settings

    # On a busy machine examples take their time; how long they do is not what properties are about.
    settings.register_profile(
        "txingress",
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        max_examples=int(os.environ.get("INGRESS_EXAMPLES", "30")),
    )
    settings.load_profile("txingress")
