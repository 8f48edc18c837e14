"""What a question is: its switches, its kind, and what the names in it are to the call graph and to the filters."""
