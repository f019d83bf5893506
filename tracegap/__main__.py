"""``python -m tracegap``."""

from tracegap.cli import main

if __name__ == "__main__":
    main()
