"""Questions from a grammar, phrased as people type them; no function is known to answer them."""

from __future__ import annotations

import random
import re
from string import ascii_lowercase

INTENTS = [" ".join(text.split()) for text in """
read a file backwards|count lines in a big file quickly|tail the last n lines of a log|detect file encoding|
get file size in human readable form|walk a directory tree and skip hidden files|find newest file in folder|
delete files older than n days|create nested directories|get relative path between two directories|
watch a directory for changes|lock a file so only one process writes|write file atomically|make file executable|
expand user home in path|change file extension|list subdirectories only|copy directory recursively|
compare two files byte by byte|find files matching glob pattern recursively|compute directory size|
check if a path is inside another path|create symbolic link|read gzip compressed file line by line|
unzip archive safely|add folder to zip|split large file into parts|merge csv files into one|skip header row of csv|
write list of dicts to csv|read excel sheet into rows|parse ini config with defaults|
load yaml with environment variables|merge nested config dictionaries|pretty print json with indent|
json encode datetime|load json lines file|validate json against schema|convert xml to dict|find xml node by attribute|
remove namespace from xml|parse html table into rows|extract all links from a web page|
strip html tags and unescape entities|render template with context|convert markdown to html|
escape special characters for shell|quote string for sql|slugify a title for urls|camel case to snake case|
snake case to camel case|capitalize first letter of each word|pluralize an english word|truncate string with ellipsis|
wrap text to a given width|pad string with zeros|remove accents from text|remove punctuation from text|
collapse multiple spaces|reverse words in a sentence|check if string is a palindrome|count occurrences of each word|
find longest common prefix|fuzzy match strings|levenshtein distance between words|soundex phonetic code|
split sentence into words|split text into sentences|remove stop words|stem words|extract email addresses from text|
extract numbers from a string|extract text between two markers|find all matches of a regex with positions|
replace using a function callback|parse key value pairs from string|parse query string into dict|
build url with parameters|join url parts|get domain from url|check url is reachable|download file with progress bar|
resume a broken download|retry a request with backoff|set timeout on http request|post json to an api|
upload file as multipart|send request through proxy|basic authentication header|refresh oauth token|
sign request with hmac|decode jwt token|verify webhook signature|parse cookies from header|
keep session alive between requests|paginate through api results|respect rate limit of api|
serve static files over http|simple http server in a thread|websocket echo server|open tcp socket and send bytes|
receive exactly n bytes from socket|find a free port|check if port is open|get local ip address|
resolve hostname to ip|ping a host|parse ip network cidr|convert ip to integer|validate mac address|
send email with html body|read unread mail over imap|connect with ssh and run command|copy file over sftp|
list objects in s3 bucket|upload to cloud storage|presigned url|publish message to queue|
consume messages from kafka topic|redis cache get or set|acquire distributed lock|connect to postgres with pool|
run query and return rows as dicts|insert many rows in one statement|upsert a record|
create table if it does not exist|escape like pattern|run inside a transaction and roll back on error|
migrate database schema|dump table to csv|build where clause from filters|sqlalchemy session scope|
convert orm object to dict|mongodb find documents by field|elasticsearch bulk index|parse date in several formats|
convert string to datetime|format datetime as iso 8601|convert utc to local timezone|unix timestamp to datetime|
first day of the month|last day of previous month|number of days between dates|business days between two dates|
add months to a date|start of week for a date|is it a leap year|age from birthday|human readable time difference|
round datetime to nearest minutes|iterate over date range|day of year|parse duration like 1h30m|
seconds to hours minutes seconds|measure time of a block|run function every n seconds|schedule job at a time of day|
stop function after timeout|sleep until next hour|flatten nested list|split list into chunks|
remove duplicates but keep order|find duplicates in list|most common element|rotate list|shuffle list with seed|
sliding window over iterable|pairwise differences|group consecutive items|group list of dicts by key|
sort by several keys|sort dict by value|invert a dictionary|merge dictionaries summing values|
get nested key with default|flatten nested dictionary keys|dict to object attributes|filter dictionary by keys|
difference between two dicts|deep copy object|default dict of lists|cartesian product of lists|all subsets of a set|
all permutations of string|n choose k|binary search in sorted list|merge sorted lists|k largest elements|
running total|moving average of a list|transpose list of lists|find index of maximum|first item matching condition|
partition list by predicate|interleave two lists|zip lists of unequal length|take while condition holds|
batch items from generator|peek at next item of iterator|cycle through values|counter with most common|
bounded queue with threads|priority queue with update|lru cache with size limit|cache results on disk|
memoize method with expiry|singleton class|observer pattern with callbacks|plugin loader|
register classes by name in a decorator|dynamically import module from path|get all subclasses of a class|
call method by name|inspect function arguments|get default values of parameters|get caller function name|
add method to class at runtime|read only property|lazy attribute|compare objects by fields|convert class to json|
enum from string|named tuple with defaults|validate types of arguments|deprecated decorator with warning|
decorator that logs calls|decorator with optional arguments|retry decorator|timing decorator|
context manager that changes directory|temporarily set environment variable|suppress output of function|
capture stdout of function|redirect stderr to file|colored output in terminal|progress bar in console|
ask yes or no question|read password without echo|get terminal size|clear the screen|parse command line arguments|
subcommands for a command line tool|run shell command and get output|stream output of subprocess|
kill process and its children|check if process is running|run as daemon|handle ctrl c gracefully|catch signals|
get cpu and memory usage|get operating system name|check if running as root|find executable in path|
thread safe counter|run tasks in thread pool and collect results|parallel map with processes|
run async function from sync code|gather coroutines with limit|async timeout|event with callback|producer consumer|
logger with rotating file|log exceptions with traceback|set log level from string|format exception as string|
raise error with a helpful message|assert almost equal|mock a function in tests|generate test data|compare floats|
random string of letters and digits|generate uuid|secure random token|hash password with salt|verify password hash|
sha1 of file|md5 of string|encrypt with aes|decrypt file with key|sign with rsa private key|base64 encode url safe|
crc checksum|hex dump of bytes|bytes to int little endian|pack struct to bytes|bit count|set bit in integer|gray code|
convert number to binary string|convert between bases|roman numeral to integer|number to words|
format number with thousands separator|round half up|clamp value to range|linear interpolation|map value to new range|
greatest common divisor|is prime|prime factors|fibonacci sequence|solve quadratic equation|sum of digits|
matrix multiply|invert matrix|solve linear system|eigenvectors|normalize vector|dot product|cosine similarity|
euclidean distance matrix|cross product|rotation matrix from angle|quaternion to euler angles|angle between vectors|
distance from point to line|point inside polygon|area of polygon|bounding box of points|line segment intersection|
convex hull of points|nearest neighbor search|haversine distance|latitude longitude to utm|
tile number from coordinates|parse wkt geometry|gaussian kernel|convolve signal|low pass filter|fft magnitude|
find peaks in signal|smooth curve|resample time series|fill missing values|rolling standard deviation|
z score normalize|min max scaling|one hot encode labels|train test split|stratified sampling|k fold cross validation|
confusion matrix|precision recall f1|roc auc score|mean squared error|softmax function|sigmoid derivative|
cross entropy loss|gradient descent step|adam optimizer update|learning rate warmup|early stopping|
save model checkpoint|load pretrained weights|count model parameters|freeze layers|dropout layer|batch normalization|
attention layer|positional encoding|lstm cell|conv block with residual|pooling layer|initialize weights xavier|
data augmentation|data loader batches|pad sequences to same length|vocabulary from corpus|tokens to ids|
tf idf vectors|n grams|word embedding lookup|beam search decode|bleu score|sample from distribution|
bootstrap confidence interval|t test|chi square test|correlation between columns|linear regression fit|
logistic regression|k means clustering|hierarchical clustering|principal components|gaussian mixture em step|
hidden markov viterbi|monte carlo simulation|simulated annealing|genetic algorithm crossover|particle swarm|
decision tree split|random forest predict|knn classify|naive bayes|pagerank|shortest path dijkstra|
breadth first search|depth first traversal|topological sort|detect cycle in graph|connected components|
minimum spanning tree|graph from edge list|adjacency matrix|max flow|tree depth|lowest common ancestor|
in order traversal|balanced tree insert|trie prefix search|union find|knapsack|longest common subsequence|
edit distance|n queens|sudoku solver|game of life step|maze generator|minimax|tic tac toe winner|deal cards|roll dice|
resize image keeping aspect ratio|crop center of image|convert image to grayscale|rotate image|image to base64|
draw text on image|overlay transparent image|histogram of image|edge detection|blur image|threshold image|
find contours|rgb to hsv|hex color to rgb|blend colors|color gradient|thumbnail from video|read frames from video|
play sound|read wav samples|mix audio|speech to text|plot line chart with labels|bar plot with error bars|
scatter plot with colors|plot heatmap with annotations|subplots with shared axis|save figure to file|
plot confusion matrix|draw network graph|animate plot|select rows where column equals value|group by and aggregate|
pivot table|merge dataframes on column|drop columns with missing values|apply function to column|
convert column to datetime|rename columns|dataframe to list of dicts|read sql into dataframe|sort dataframe by column|
sample rows|unique values of column|create user with password|login required decorator|check permission of user|
current user from request|paginate queryset|serialize model to json|upload handler|flask error handler|
return json response with status|middleware that adds header|csrf check|url route with parameter|
render form with errors|send confirmation email|parse git log|current git branch|clone repository|
list changed files in commit|bump version number|compare versions|parse requirements file|install package from script|
build docker image|list running containers|parse dockerfile|create ec2 instance|terraform state|kubernetes pods list|
parse nginx log|send metric to statsd|health check endpoint|parse fasta file|reverse complement of dna|
translate codon|read pdb atoms|molecular weight|parse vcf|align sequences|read fits header|julian date|convert units|
fahrenheit to celsius|bmi|compound interest|currency conversion|mortgage payment|stock price history|candlestick data|
order book update|bitcoin address check|merkle root|serial port read|gpio set pin|i2c read register|modbus crc|
parse nmea sentence|midi note to frequency|keyboard shortcut handler|move mouse|take screenshot|copy to clipboard|
open file dialog|center window on screen|drag and drop|tree view model|draw rectangle on canvas|sprite collision|
game loop with fixed timestep
""".replace("\n", "").split("|")]  # fmt: skip


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

WHOLE = 0.25  # share of questions that are a whole intent, not made by the grammar
REWORDED, MISTYPED = 0.4, 0.03
SHORTEST_MISTYPED = 5  # letters

_slot = re.compile(r"{(\w+)}")
_choices = {name: [" ".join(word.split()) for word in text.split("|")] for name, text in SLOTS.items()}
_patterns = [pattern.strip() for pattern in PATTERNS.split("|")]


def question(rng: random.Random) -> str:
    """One question: plain or phrased as to a search engine, some reworded, a few mistyped."""
    if rng.random() < WHOLE:
        plain = rng.choice(INTENTS)
    else:
        plain = _slot.sub(lambda slot: rng.choice(_choices[slot[1]]), rng.choice(_patterns))
    if rng.random() < REWORDED:
        plain = reworded(plain, rng)
    variants = as_search(plain, rng)
    return mistype(variants, rng) if rng.random() < MISTYPED else variants


def as_search(plain: str, rng: random.Random) -> str:
    """The same phrased as to a search engine."""
    return rng.choice(DRESSES).format(plain.replace("{", "").replace("}", ""))


# Words that can replace each other in a question. The teachers score a reworded question too, so a bad replacement does
# no harm.
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

REWORDED = 0.5  # share of replaceable words that are replaced


def _others(groups: str) -> dict[str, list[str]]:
    """For each word its replacements."""
    others: dict[str, list[str]] = {}
    for group in groups.split("|"):
        words = [word.replace("-", " ") for word in group.split()]
        for word in words:
            others.setdefault(word, []).extend(other for other in words if other != word)
    return others


_alike = _others(ALIKE)


def reworded(text: str, rng: random.Random) -> str:
    """The text with some words replaced by synonyms."""
    return " ".join(
        rng.choice(_alike[word]) if word in _alike and rng.random() < REWORDED else word for word in text.split()
    )


def mistype(text: str, rng: random.Random) -> str:
    """The text with one typo: a letter of a longer word lost, doubled, swapped or wrong."""
    words = text.split()
    candidates = [number for number, word in enumerate(words) if len(word) >= SHORTEST_MISTYPED and word.isalpha()]
    if not candidates:
        return text
    number = rng.choice(candidates)
    word, at = words[number], rng.randrange(1, len(words[number]) - 1)
    before, letter, after = word[:at], word[at], word[at + 1 :]
    words[number] = rng.choice(
        [before + after, before + letter + letter + after, before + after[0] + letter + after[1:],
         before + rng.choice(ascii_lowercase) + after]
    )  # fmt: skip
    return " ".join(words)
