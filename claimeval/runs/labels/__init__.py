"""Human labels: drawing what to label, joining labels to claims, agreement, and scores corrected by labels."""
