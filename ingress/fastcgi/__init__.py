"""FastCGI as bytes, for the side of the web server: what a request comes to, and what an answer is.  Pure.

``records`` has the records of the protocol, both ways; ``params`` what a program is told of a request; ``answer`` what it
answers, from records to the head and the body.  Source: the FastCGI specification, version 1.0, and RFC 3875 for what CGI says
inside of it.
"""
