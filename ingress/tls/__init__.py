"""TLS at our own ports, and to endpoints.

    a handshake ──▶ bases.py: begins on one of these contexts
                      │ the client names a server
                      ▼
                    contexts.py: the one for that name ──▶ context_building.py: a certificate with its settings, by profile.py
                      │
                      ▼
                    handshake.py: what the client showed (demands.py: what was asked, peer_keys.py: which keys take no time)
                    handshake_feed.py: how much of it OpenSSL reads in a turn; message_feed.py: and of messages that come behind it

    to endpoints            upstream.py: contexts by settings (held_settings.py), sessions by endpoint, and whose certificate it is

``client_hello.py`` reads the name where TLS is not ended here, ``groups.py`` knows which groups there are, ``generated_certificate.py``
makes a certificate for who has none, and ``binding.py`` alone knows what pyOpenSSL has no public name for.
"""
