"""How a wheel comes by machine code: which modules, whether they can be compiled here, and the build backend that asks.

Nothing of it is installed, and nothing that runs imports it.
"""
