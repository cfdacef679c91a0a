"""Heads of requests that several tests of the channel send."""

GET_1_0 = b"GET / HTTP/1.0\r\nHost: shop.test\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 10\r\n\r\n"
LARGE_POST = b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 900000\r\n\r\n"
