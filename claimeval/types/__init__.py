"""Records, requests, scales, families, options and errors. This room imports no other room."""
