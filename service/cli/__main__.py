"""`python -m treeline.service.cli`: the command line without its script."""

from treeline.service.cli import main

if __name__ == "__main__":
    main()
