"""The tests of txingress."""

from contextlib import suppress

# Fuzzers and benchmarks, which use some of this, are installed without it.
with suppress(ImportError):
    from hypothesis import HealthCheck, settings

    # On a busy machine examples take their time; how long they do is not what properties are about.
    settings.register_profile("txingress", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("txingress")
