"""FastCGI as bytes."""
