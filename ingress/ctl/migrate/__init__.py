"""The report for somebody who leaves ingress-nginx: what works as it is, what differs, what has to change and how.

    assessing.py ─┬─▶ outcome.py          what becomes of each object   (owners.py: whose it is)
                  ├─▶ matters.py          what is the matter with several of them, each thing once
                  ├─▶ whole_mending.py    all changes, judged again until nothing is left  (mending.py, raw_ingress.py)
                  ├─▶ arguments.py, config_map.py, firewall.py      what ingress-nginx was told
                  └─▶ migration.py        all of that as values
                         │
                         └──▶ writing.py (writing_arguments.py, checklist.py), as_json.py

``patching/`` makes patches of the changes, ``installation/`` the kustomization that takes the place of ingress-nginx.
"""
