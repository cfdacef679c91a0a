"""What a request costs more, or takes of memory, by what its route asks for."""
