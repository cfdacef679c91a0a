"""Lists and watches: keeping one kind equal to the cluster (``reflector``), and which kinds there are to keep (``defined_kinds``)."""
