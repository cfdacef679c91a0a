"""What objects ask for about TLS to their clients: certificates of hosts, and who has to bring one."""
