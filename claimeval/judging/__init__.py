"""Build the questions to judges, parse their replies, and vote. Pure: no provider, no network, no
clock."""
