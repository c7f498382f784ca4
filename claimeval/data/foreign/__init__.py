"""Results and recorded replies of other tools, read as samples with verdicts."""
