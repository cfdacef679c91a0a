"""What workers tell their parent, and how it asks them: what they counted, how endpoints are, failures, lines of the log.

what was counted        tally_sender.py ──▶ tally_rounds.py ──▶ pool_metrics.py
how endpoints are       endpoint_rounds.py
what happened           failures.py, log_lines.py
"""
