"""What is looked for beyond the problems of translation, one module for each thing that rules are about.

whose it is, what is there      classes.py, prefixes.py, fields.py
hosts and paths                 hosts.py, paths.py, rewrites.py
what is asked for               effects.py: in vain; unsafe.py: and had better not be
"""
