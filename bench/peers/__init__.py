"""The proxies that are measured beside each other: how each is installed, configured and started; ours is one of them."""
