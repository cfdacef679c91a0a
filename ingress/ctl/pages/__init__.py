"""Pages for people: what a report says as plain values, and these as Markdown or HTML."""
