"""Importing this imports what processes that are forked afterwards need: see ``bench.setup.own_process``."""

import warnings

from bench.features import annotations, filters, gateway_filters
from bench.requests import calls
from bench.setup.importing import import_ours

__all__ = ["annotations", "calls", "filters", "gateway_filters"]

import_ours()
# Each imports the module that was started, under another name, which is one of these.
warnings.filterwarnings("ignore", "'bench.* found in sys.modules", RuntimeWarning)
