"""Whole wishes as people have them, beside the grammar's: no function is their answer, the teachers rank for them."""

from __future__ import annotations

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
