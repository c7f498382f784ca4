"""The nouns: records, requests, scales, families, options and errors. No I/O, and no other room."""
