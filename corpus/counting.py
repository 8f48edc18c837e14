"""Numbers and days in sentences."""

import time


def counted(count: int, noun: str) -> str:
    """`0 units`, `1 unit`, `1,234 units`, `2 classes`, `2 indexes`, `3 repositories`."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y"):
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}es" if noun.endswith(("s", "x")) else f"{count:,} {noun}s"


def day_of(seconds: float) -> str:
    """`2026-11-19`, in UTC, of seconds since 1970."""
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))
