"""What RFC 9113 and RFC 7541 ask of a server, as a table of rows, and whoever plays them."""
