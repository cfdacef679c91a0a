"""The commands: each module has the options of one, calls what decides, and prints what comes of it.

    lint.py, diff.py, explain.py, render.py, migrate.py, top.py, completion.py, man.py, version.py

    what several have       input_parameters.py ──▶ reading_inputs.py: which objects, by which options
                            destinations.py: where reports go; completing.py: what a shell is offered
    of migrate alone        migration_input.py: what is left behind; compare_parameters.py, comparing.py: its --compare

``ingress.ctl.main`` has them all.
"""
