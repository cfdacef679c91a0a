"""What a snapshot is made of as plain data, such as JSON has, for pages, reports and programs.  Pure.

Key material is never looked at, and what a value keeps out of its ``repr`` is kept out here, too.
"""
