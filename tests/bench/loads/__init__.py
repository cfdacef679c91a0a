"""Tests of the loads, and of the programs that send them."""
