"""What is served, as objects of the Gateway API: all that can be said in them, and what cannot, by name.

It begins with the route table, in which is decided already whose a host is, who won a path, and what stands before it.
"""
