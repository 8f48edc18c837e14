"""Numbers in sentences."""


def counted(count: int, noun: str) -> str:
    """`0 units`, `1 unit`, `1,234 units`, `2 classes`, `2 indexes`, `3 repositories`."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y"):
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}es" if noun.endswith(("s", "x")) else f"{count:,} {noun}s"
