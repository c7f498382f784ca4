"""claimeval: how far the answers of a question-answering system can be trusted, claim by claim."""
