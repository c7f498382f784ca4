"""Scripts that check and build the project."""
