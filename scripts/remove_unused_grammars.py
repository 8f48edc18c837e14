"""Remove the grammars of the installed language pack that Treeline never loads: nearly half of its 190 MB.

For the Docker image alone: in any other environment the pack may serve other programs.
"""

from pathlib import Path

import tree_sitter_language_pack

from treeline.ingest.parsers.registry import by_suffix, grammars

used = {grammar.pack or grammar.name for grammar in (*grammars().values(), *by_suffix().values()) if grammar.query}
for file in (Path(tree_sitter_language_pack.__file__).parent / "bindings").glob("*.so"):
    if file.name.split(".")[0] not in used:
        file.unlink()
