"""What connections cost: accepting them, their handshakes, and datagrams, which have none."""
