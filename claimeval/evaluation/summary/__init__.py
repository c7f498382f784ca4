"""What the samples of a run add up to: metrics, judges of a panel, agreement, effects of order."""
