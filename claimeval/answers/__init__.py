"""Whole answers rated by judges: what is asked, how it is carried out, and how it stands to the scores by claims."""
