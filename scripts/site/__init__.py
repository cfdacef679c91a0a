"""The documents as a site: ``make site`` builds it with Sphinx, out of the Markdown as it is."""
