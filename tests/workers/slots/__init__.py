"""Tests of what becomes of the places of workers."""
