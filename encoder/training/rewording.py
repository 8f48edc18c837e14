"""The same wish in other words: what people say instead of what a docstring says, and how they mistype it."""

from __future__ import annotations

import random
from string import ascii_lowercase

# Words that may stand for each other in a question. The teachers judge what a reworded question finds, so a word that
# fits badly in one sentence does no harm.
ALIKE = """get find fetch retrieve obtain return|remove delete drop strip clear discard|
create make build generate construct|convert turn transform change cast translate|
check test verify determine see|show print display list output|calculate compute work-out count|
read load parse open|write save store dump|combine merge join concatenate|split divide separate break|
update modify change edit|send post submit transmit|start launch begin run|
stop kill terminate end cancel|compare diff match|find search look-for locate lookup|
sort order rank arrange|replace substitute swap change|add append insert put|copy clone duplicate|
download fetch get pull|run execute call invoke|wait sleep pause delay|
iterate loop traverse walk go-through|validate check verify|initialize init set-up create|
plot draw graph chart visualize|encode serialize dump|decode deserialize parse load|
dictionary dict mapping hash-map|list array sequence|string text str|integer int number|
directory folder dir path|file files document|function method callable|object instance|
argument parameter option arg|element item entry member|key keys field|value values|image picture photo|
url link address|database db|configuration config settings preferences|message msg text|
error exception failure|number count amount|random arbitrary|unique distinct different|
duplicate repeated same|empty blank null|first initial|last final latest|
maximum max largest biggest highest|minimum min smallest lowest|average mean|length size|
current present active|name title|user account|temporary temp|environment env|command cmd shell-command|
process task job|thread worker|server host machine|request call query|response reply answer result|
date day datetime|time timestamp|remote external|all every each|given specified certain|between from|
recursively nested deep|whitespace spaces blanks|lowercase lower-case small-letters|
uppercase capital-letters|substring part-of-string|regex regular-expression pattern|column field|
row line record|table dataframe sheet|matrix 2d-array grid|vector array|password secret credentials|
token key|log logger logging|package module library|class type|attribute property member|variable var|
extension suffix file-type|hash checksum digest|compress zip pack|extract unzip unpack|encrypt cipher|
connection connect session|timeout time-limit|cache memoize remember|percent percentage|
distance difference similarity|probability likelihood chance|neural-network model network|
train fit learn|predict infer classify|weights parameters coefficients|nearest closest|
intersection overlap common|node vertex|edge link connection|tree hierarchy|parent ancestor|
child children|neighbors adjacent|path route|color colour rgb|width size|angle rotation|
coordinates position location point|bytes binary|parse read interpret"""

REWORDED = 0.5  # share of the words that could be said otherwise and are
SHORTEST_MISTYPED = 5


def _others(groups: str) -> dict[str, list[str]]:
    """For each word what may stand for it."""
    others: dict[str, list[str]] = {}
    for group in groups.split("|"):
        words = [word.replace("-", " ") for word in group.split()]
        for word in words:
            others.setdefault(word, []).extend(other for other in words if other != word)
    return others


_alike = _others(ALIKE)


def reworded(text: str, rng: random.Random) -> str:
    """The text with some of its words replaced by others that mean much the same."""
    return " ".join(
        rng.choice(_alike[word]) if word in _alike and rng.random() < REWORDED else word for word in text.split()
    )


def mistyped(text: str, rng: random.Random) -> str:
    """The text with one letter of one longer word lost, doubled, swapped with its neighbour or wrong."""
    words = text.split()
    long = [number for number, word in enumerate(words) if len(word) >= SHORTEST_MISTYPED and word.isalpha()]
    if not long:
        return text
    number = rng.choice(long)
    word, place = words[number], rng.randrange(1, len(words[number]) - 1)
    before, letter, after = word[:place], word[place], word[place + 1 :]
    words[number] = rng.choice(
        [before + after, before + letter + letter + after, before + after[0] + letter + after[1:],
         before + rng.choice(ascii_lowercase) + after]
    )  # fmt: skip
    return " ".join(words)
