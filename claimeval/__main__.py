"""`python -m claimeval` is the command line."""

from claimeval.cli.main import main

if __name__ == "__main__":
    main()
