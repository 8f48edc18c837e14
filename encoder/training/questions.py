"""Questions as people type them into a search engine, made from a small grammar: no function is their answer.

A teacher's ranking of real functions is all that distillation needs, so these widen the words and the manner of
asking beyond what docstrings and names have.
"""

from __future__ import annotations

import random
import re

from treeline.encoder.training.intents import INTENTS
from treeline.encoder.training.rewording import mistyped, reworded

SLOTS: dict[str, str] = {
    "type": """int|integer|float|string|str|list|dict|dictionary|tuple|set|array|numpy array|json|json string|bytes|byte
        array|bytearray|hex|hex string|binary|binary string|boolean|bool|date|datetime|timestamp|unix timestamp|epoch|
        dataframe|series|object|namedtuple|enum|decimal|number|unicode|ascii|base64|xml|yaml|csv|html|markdown|char|
        matrix|tensor|image|rgb|hex color|url|path|utc|local time|seconds|milliseconds|camelcase|snake case|lowercase|
        uppercase|ordered dict|generator|iterator|nested dict|flat list|sparse matrix|md5|query string|named tuple""",
    "file": """file|text file|csv file|json file|xml file|yaml file|config file|ini file|zip file|tar file|gzip file|
        log file|binary file|image file|pickle file|excel file|pdf|html page|large file|temp file|sqlite database|
        parquet file|hdf5 file|audio file|wav file|template|shapefile|fasta file""",
    "collection": """list|array|dictionary|dict|tuple|set|string|list of lists|list of dicts|list of strings|
        list of tuples|list of dictionaries|nested list|2d array|numpy array|dataframe|queue|stack|heap|linked list|
        tree|graph|generator|iterable|matrix|directory|table|sequence|column|dict of dicts|list of objects""",
    "item": """element|item|first element|last element|key|value|duplicates|duplicate values|whitespace|spaces|
        punctuation|special characters|newline|empty strings|none values|nan values|null values|substring|word|line|
        character|row|column|index|prefix|suffix|html tags|stop words|numbers|vowels|comma|quotes|outliers|
        trailing zeros|leading zeros|non ascii characters|comments|emoji|accents|attribute""",
    "key": """key|value|date|length|name|multiple keys|attribute|second element|frequency|size|index|column|
        alphabetical order|descending order|modification time|custom function|datetime|natural order|priority""",
    "thing": """file|directory|folder|path|string|key|value|variable|object|function|class|module|process|port|url|
        table|column|row|user|email|date|number|list|dict|thread|connection|socket|server|database|package|attribute|
        index|element|environment variable|image|request|session|token|node|edge|point|year|ip address|password|
        host|service|queue|window|widget|method|substring""",
    "state": """exists|is empty|is a number|is numeric|is a string|is none|is valid|is running|is open|is a list|
        is a function|is callable|is installed|is in list|is palindrome|is prime|is a leap year|contains substring|
        is a directory|is a file|is iterable|is json|is an integer|is a float|is a date|is connected|is alive|
        has changed|is locked|is a valid email|is a valid url|is sorted|is subset|is nan|is equal|starts with|
        ends with|matches regex|is authenticated|is writable|is hashable|is reachable|is inside polygon""",
    "part": """length|size|name|extension|first line|last line|first n elements|last n characters|number of lines|
        number of rows|number of words|max value|minimum|average|mean|median|mode|sum|index|path|parent directory|
        current directory|file name|date|year|month|day of week|last day of month|week number|type|attributes|
        methods|keys|values|docstring|source code|arguments|parameters|memory usage|cpu usage|md5 hash|checksum|
        most common element|unique values|intersection|difference|union|standard deviation|percentile|nth element|
        shape|dimensions|columns|headers|encoding|title|domain|host name|ip address|mac address|pid|exit code|
        version|size in bytes|creation time|modification date|all subclasses|all files|all links|neighbors|children|
        shortest path|common elements|position|rows with nan|response headers|status code|caller name|home directory""",
    "action": """parse|read|write|load|save|open|download|upload|copy|move|delete|rename|compress|decompress|extract|
        encrypt|decrypt|hash|encode|decode|split|join|merge|concatenate|flatten|reverse|rotate|shuffle|sort|filter|
        group|count|iterate over|loop through|print|pretty print|format|plot|draw|resize|crop|validate|compare|
        replace|append to|insert into|update|create|generate|initialize|serialize|deserialize|clone|cache|normalize|
        tokenize|escape|unescape|strip|trim|pad|round|truncate|chunk|batch|zip|map|reduce|transpose|sample|diff|
        watch|lock|stream|import|export|convert|clear|swap|slice|invert|enumerate|fill|search|lookup|fetch|query""",
    "web": """http request|post request|get request with headers|rest api|json response|soap request|web page|cookie|
        oauth token|jwt token|websocket|proxy|user agent|form data|file upload|html table|url parameters|redirect|
        basic auth|ssl certificate|rss feed|webhook|csrf token|api key|multipart form|query parameters|session|
        xml rpc|sitemap|login form|ftp server|email with attachment|smtp|dns record|s3 bucket|google drive|tweets""",
    "system": """shell command|subprocess|bash script|environment variable|command line arguments|thread|process|daemon|
        signal|timeout|logger|log level|cron job|exception|traceback|stdout|stderr|stdin|keyboard input|password prompt|
        progress bar|temporary directory|symlink|permissions|disk space|clipboard|screenshot|mouse click|serial port|
        socket|multiprocessing pool|thread pool|async task|event loop|coroutine|lock|semaphore|mutex|retry|decorator|
        context manager|singleton|property|metaclass|memoization|lru cache|dependency|virtualenv|plugin|registry""",
    "science": """linear regression|logistic regression|k nearest neighbors|decision tree|random forest|neural network|
        cross validation|confusion matrix|train test split|pca|gradient descent|softmax|cosine similarity|
        euclidean distance|manhattan distance|levenshtein distance|haversine distance|moving average|rolling mean|
        histogram|scatter plot|heatmap|bar chart|normal distribution|random number|random string|fft|convolution|
        interpolation|matrix multiplication|determinant|inverse matrix|eigenvalues|gaussian blur|edge detection|
        histogram equalization|one hot encoding|tf idf|word frequency|ngrams|stemming|bag of words|edit distance|
        correlation matrix|polynomial fit|least squares|bootstrap sample|entropy|mutual information|roc curve|
        precision and recall|learning rate schedule|attention mask|embedding lookup|batch normalization|kalman filter|
        bounding box iou|color map|spectrogram|peak detection|curve fit|integral|derivative|bezier curve""",
    "algorithm": """binary search|quicksort|merge sort|bubble sort|heap sort|breadth first search|depth first search|
        dijkstra|a star|topological sort|fibonacci|factorial|permutations|combinations|powerset|cartesian product|
        prime numbers|greatest common divisor|least common multiple|roman numerals|anagram|palindrome|caesar cipher|
        binary tree|trie|priority queue|union find|minimum spanning tree|longest common subsequence|knapsack|
        n queens|sudoku|game of life|matrix spiral|flood fill|convex hull|point in polygon|line intersection|
        sliding window|reservoir sampling|bloom filter|rate limiter|exponential backoff|state machine|lru cache|
        linked list|hash table|checksum|luhn check|huffman coding|run length encoding|simulated annealing""",
}

PATTERNS = """convert {type} to {type}|{type} to {type}|cast {type} to {type}|parse {type} from {type}|
turn {type} into {type}|change {type} into {type}|read {file}|read {file} line by line|write {type} to {file}|
save {type} to {file}|load {file} into {type}|open {file}|append to {file}|{action} {file}|{action} {thing}|
{action} {collection}|{action} {collection} by {key}|sort {collection} by {key}|sort {collection}|
group {collection} by {key}|filter {collection} by {key}|check if {thing} {state}|check if {collection} {state}|
test if {type} {state}|see if {thing} {state}|how do i know if {thing} {state}|get {part} of {thing}|
get {part} of {collection}|get {part} from {file}|find {part} of {collection}|find {part}|{part} of {thing}|
return {part} of {collection}|print {part} of {thing}|count {item} in {collection}|count number of {item} in {file}|
remove {item} from {collection}|remove {item} from string|delete {item} from {collection}|drop {item} from dataframe|
strip {item} from string|replace {item} in {collection}|replace {item} with {item}|find {item} in {collection}|
split {collection} into chunks|split string by {item}|split {collection} by {item}|join {collection} with {item}|
merge two {collection}|compare two {collection}|compare two {thing}|difference between two {collection}|
make {web}|send {web}|handle {web}|parse {web}|create {web}|fetch {web}|download {file} from url|upload {file}|
run {system}|create {system}|get {system}|set {system}|kill {system}|start {system}|implement {system}|use {system}|
wait for {system}|capture {system}|{system} with {system}|calculate {science}|compute {science}|plot {science}|
implement {science}|{science}|{science} from scratch|{algorithm}|implement {algorithm}|{algorithm} implementation|
find {algorithm}|generate {algorithm}|list {part} in directory|create {thing} if not exists|add {item} to {collection}|
insert {item} into {collection}|iterate over {collection}|loop through {collection} with index|flatten {collection}|
initialize {collection} with zeros|create empty {collection}|copy {collection}|map function over {collection}|
get {part} in pandas|{action} pandas dataframe|select rows from dataframe by {key}|numpy {action} {item}|
{action} image|resize image|draw {science}|{action} xml|{action} json|{action} yaml|{action} url|{action} string|
{action} date|format date as string|date difference in days|add days to date|time {thing}|measure execution time|
execute sql query|connect to database|insert row into table|create table|bulk insert into database|
encrypt {type}|hash {thing}|generate random {type}|generate unique id|validate {thing}|validate email address|
load {thing} from {file}|dump {type} to {file}|import {thing} dynamically|call {thing} by name|
decorator for {system}|class with {system}|set {part} of {thing}|update {part} of {thing}|rotate {thing}|
random {item} from {collection}|max {key} in {collection}|unique {item} in {collection}""".replace("\n", "")

DRESSES = [
    "{}", "{}", "{}", "python {}", "{} python", "{} in python", "how to {} in python", "python how to {}",
    "how to {}", "how to {} python", "python code to {}", "python function to {}", "how do i {} in python",
    "best way to {} in python", "{} using python", "function that {}", "python {} example", "python3 {}",
    "python script to {}", "what is the way to {}", "is there a function to {}", "code to {}", "a way to {}",
]  # fmt: skip

WHOLE = 0.25  # share of questions that are a whole wish, not the grammar's
REWORDED, MISTYPED = 0.4, 0.03

_slot = re.compile(r"{(\w+)}")
_choices = {name: [" ".join(word.split()) for word in text.split("|")] for name, text in SLOTS.items()}
_patterns = [pattern.strip() for pattern in PATTERNS.split("|")]


def question(rng: random.Random) -> str:
    """One made-up question, plain or dressed, some in other words, a few mistyped."""
    if rng.random() < WHOLE:
        plain = rng.choice(INTENTS)
    else:
        plain = _slot.sub(lambda slot: rng.choice(_choices[slot[1]]), rng.choice(_patterns))
    if rng.random() < REWORDED:
        plain = reworded(plain, rng)
    dressed = dress(plain, rng)
    return mistyped(dressed, rng) if rng.random() < MISTYPED else dressed


def dress(plain: str, rng: random.Random) -> str:
    """The same wish in the manner of a search engine's user."""
    return rng.choice(DRESSES).format(plain.replace("{", "").replace("}", ""))
