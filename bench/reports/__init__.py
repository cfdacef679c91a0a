"""What becomes of figures: tables, plots, ``bench/results.json`` and ``docs/performance.md``."""
