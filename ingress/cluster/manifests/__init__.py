"""Manifests on disk as a source of objects."""
