"""Serve until standard input ends: ``python -m benchmarks.loopback '{"port": 8765}'``."""

from __future__ import annotations

import sys

from benchmarks.loopback.options import Options
from benchmarks.loopback.process import main

if __name__ == "__main__":
    main(Options.from_json(sys.argv[1]))
