"""Tests of HPACK, by the examples of RFC 7541 and beyond its bounds."""
