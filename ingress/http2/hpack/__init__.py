"""HPACK (RFC 7541): fields to field blocks and back, upon the Huffman code and the static table."""
