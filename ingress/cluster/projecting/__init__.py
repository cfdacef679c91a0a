"""Objects of the API to the small frozen values that are kept of them."""
