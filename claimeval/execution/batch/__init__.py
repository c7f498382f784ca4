"""Requests that ride in the providers' batch files: what is in a file, what came back, and what is asked again."""
