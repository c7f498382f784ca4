"""Documents graded for relevance by judges: which pairs, how they are graded, and how far people agree."""
