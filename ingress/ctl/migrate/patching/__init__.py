"""Changes of objects as what somebody applies: commands for ``kubectl``, patches, and diffs of the files that they stand in."""
