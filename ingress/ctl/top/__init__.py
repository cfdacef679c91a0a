"""What happens at a running controller, at a terminal, for as long as somebody looks.

stream of events ──▶ feed ──▶ board ──▶ picture ──▶ screen
octets               events   what is   lines       what is different of them
                              known
"""
