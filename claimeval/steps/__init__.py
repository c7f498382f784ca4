"""One question to a judge per file: `ask` makes the request, `read` checks the reply. Pure: no network, no files."""
