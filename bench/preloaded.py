"""Importing this imports what processes that are forked afterwards need: see ``bench.own_process``."""

import warnings

from bench import annotated, calls, filters, gateway_filters
from bench.importing import import_ours

__all__ = ["annotated", "calls", "filters", "gateway_filters"]

import_ours()
# Each imports the module that was started, under another name, which is one of these.
warnings.filterwarnings("ignore", "'bench.* found in sys.modules", RuntimeWarning)
