"""Integrations with other tools: the pytest plugin, and platforms. Nothing in claimeval imports
these modules."""
