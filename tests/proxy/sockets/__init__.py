"""The data path on real sockets: clients, endpoints, streams; and here what goes from the one side to the other."""
