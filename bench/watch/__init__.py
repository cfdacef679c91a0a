"""How reading a large cluster costs: ``python -m bench.watch``, beside an API server of its own."""
