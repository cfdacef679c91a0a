"""The options: one table, and what is made of it: the help, the page, and ``Settings``.

    table.py                all options, each of which is an option.py; those of families of annotations, of traces and of
                            the firewall are rows of family_options.py, tracing_options.py and firewall_options.py
    texts to values         values.py, label_selectors.py, log_destinations.py, installed_filters.py
    the help                help.py

    what may say some besides the command line   ──▶ merging.py decides what counts
        config_map.py           the operator's ConfigMap, by config_map_keys.py and config_map_tracing.py
        config_map_source.py    the same, followed (followed_config_map.py)
    port_services.py        ConfigMaps that list ports of TCP and UDP, followed by port_services_source.py

``ingress_nginx_arguments.py`` has what the arguments of ingress-nginx come to here.
"""
