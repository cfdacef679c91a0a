"""What requests count.

    exchange_families.py        shows what was counted, in parts
      └──▶ exchanges.py             by Ingress and Service, and of all
             └──▶ exchange_rows.py      one row: by class of status, by cause, by how long
                    └──▶ histograms.py      buckets of seconds, with examples.py of what fell into each

All but the first are on the way of every request, and compiled.
"""
