"""Raw HTTP/1.1 conversations and what must become of each: data by topic, and the runners that judge it."""
