"""How reading a large cluster costs: ``python -m bench.cluster.watch``, beside an API server of its own."""
