"""Requests answered through the batch APIs of providers: request files, their status, and their results."""
