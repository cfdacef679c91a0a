"""Importing this imports what processes that are forked afterwards need: see ``bench.own_process``."""

from bench import annotated, calls, filters, gateway_filters
from bench.importing import import_ours

__all__ = ["annotated", "calls", "filters", "gateway_filters"]

import_ours()
