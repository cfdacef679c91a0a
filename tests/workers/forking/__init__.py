"""Tests of the fork server and of what it forks."""
