"""`treeline lab torture`: kills, failing disks and damage, by chance and by seed, with a check of what was kept."""
