"""What one snapshot has otherwise than the one before, as changes for people: routes, endpoints, certificates.

    changed_objects ──▶ route_effects, endpoint_effects, certificate_effects: before, after ──▶ what is different

The effects are pure, and found in steps: a snapshot may hold tens of thousands of routes.
"""
