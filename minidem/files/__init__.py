"""Files that runs leave behind: trajectories, checkpoints, manifests."""
