"""The admission webhook: whoever applies an Ingress hears at once what would not be honored of it, and is refused nothing."""
