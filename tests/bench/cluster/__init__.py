"""Tests of what is reckoned about large clusters."""
