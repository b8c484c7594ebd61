"""`python -m rankwell`."""

from __future__ import annotations

from rankwell.cli import main

if __name__ == "__main__":
    main()
