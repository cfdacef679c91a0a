"""Tests of how proxies are configured and started."""
