"""What commands are about: files, folders, clusters."""
