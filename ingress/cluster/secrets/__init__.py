"""Which Secrets are needed, and how they are had without reading all."""
