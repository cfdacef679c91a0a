"""Tests of the package that this one is named after."""
