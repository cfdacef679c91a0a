"""The API server: its client, its threads, what its answers mean, and when to ask again.

    api_client.py           one request over HTTP; what it means is in api_status.py
        credentials.py, server_addresses.py     where the server is, and who we are to it (kubeconfig_shape.py)
        credential_plugin.py                    programs that say who we are (token_renewal.py: again, before a token ends)
        package_parts.py                        what of the ``kubernetes`` package is used
        interruptible_pools.py                  connections that another thread can break off
        chunked.py, read_deadline.py            answers as they come, and for how long
    api_thread.py           requests one after the other, for somebody in the reactor thread

``backoff.py`` says when to ask again, ``contact.py`` and ``outage.py`` what the log is told of all that.
"""
