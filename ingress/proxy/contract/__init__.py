"""What the folders of the proxy promise each other, and values that several of them use; nothing here waits."""
