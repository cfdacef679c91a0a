"""What lint finds."""
