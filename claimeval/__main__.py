"""The command line: `claimeval` and `python -m claimeval`."""


def main() -> None:
    """Import the command line and run it; Ctrl-C ends it quietly, also while it is being
    imported."""
    try:
        from claimeval.cli.main import main

        main()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
