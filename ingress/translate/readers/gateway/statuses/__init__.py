"""What the statuses of the kinds of the Gateway API say: made of problems, of the topology, and of how many routes are attached.

Nothing is judged here: a condition does not hold because there is a problem, and says what the problem says, by the API's word for it.
"""
