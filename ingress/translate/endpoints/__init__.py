"""From a backend reference to its endpoints: which there are, which may be connected to, and how TLS is spoken to them."""
