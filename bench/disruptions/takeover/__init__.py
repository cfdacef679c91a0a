"""Whether anything is lost while controllers take over from each other: every request counted, by the kind of its connection."""
