"""The jobs: claims, ratings, relevance, matching and queries, what each asks about an item and what it reads off.

Knows how to ask, never how an answer is obtained or where a run is kept.
"""
