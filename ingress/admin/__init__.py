"""The admin port: health, readiness, metrics, and the live picture of what is served."""
