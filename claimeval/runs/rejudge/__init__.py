"""A run under other judges, prompts, metrics or votes; what is already answered is not asked again."""
