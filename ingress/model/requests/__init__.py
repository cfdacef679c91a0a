"""What a request says, and who may say otherwise.

    templates.py                what of a request is put in texts, by variables as nginx has them
      └── request_facts.py      what of it a verdict may look at
            └── client_authentication.py    whose certificate its connection showed
      └── shown_certificates.py     what that says
            └── distinguished_names.py      subject and issuer as text
    decoded_paths.py            its path with all that the normal form leaves out
    reserved_fields.py          the fields that only the proxy sets or takes away
    cgi.py                      what a program behind CGI is told besides

Of what a filter of an author may look at, ``ingress.filters`` has all.
"""
