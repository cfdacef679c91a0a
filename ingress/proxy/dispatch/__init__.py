"""Where a request goes: the resource that decides, and plain ``twisted.web`` resources beside it."""
