"""Who answers behind a proxy."""
