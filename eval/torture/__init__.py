"""`treeline lab torture`: random but repeatable kills, disk failures and damage, with a check of what survives."""
