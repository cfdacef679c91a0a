"""The service manager that started the process: the sockets that it hands over, and what it is told."""
