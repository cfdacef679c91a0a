"""Tests of certificates of hosts, and of who has to bring one."""
