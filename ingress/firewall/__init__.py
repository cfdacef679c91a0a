"""The web application firewall: ModSecurity's library, in processes of their own.

    filters ──▶ Firewall (pool.py) ──frames──▶ firewall process: serving.py ──▶ libmodsecurity.py
                  Member (members.py), one a process ◀── verdicts

What visitors send is parsed by C++ code there and nowhere else.  A firewall process is started anew (``exec``), so that it has
nothing of the memory of the process that serves: no key, no other request.  It writes no file, has a bound of memory, and ends
by itself where it takes too long; whoever serves ends it then, too.

``messages.py`` is what crosses.  ``main.py`` is the program of a firewall process, which checks expressions (``expressions.py``); ``rule_log.py``
is what whoever serves writes of what rules found.
"""
