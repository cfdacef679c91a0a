"""What a large cluster costs: reading it, handing it to workers, its memory, its pages, its reports."""
