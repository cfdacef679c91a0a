"""Programs for those who work on this repository; nothing of it is installed."""
