"""The API server: its client, its threads, what its answers mean, and when to ask again."""
