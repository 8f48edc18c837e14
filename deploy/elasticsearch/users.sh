#!/bin/bash
# Sets the password of Kibana's user and makes the service's role and user. PUT replaces, so running it again is safe.
set -euo pipefail

quoted() { # the text as a JSON string, which is also how curl's configuration quotes
    local text=${1//\\/\\\\}
    printf '"%s"' "${text//\"/\\\"}"
}

# METHOD PATH, the body on standard input. Passwords go in by file descriptors: arguments are visible to every process.
request() {
    curl --silent --show-error --fail-with-body --max-time 30 --cacert "$ELASTICSEARCH_CA" \
        --config <(printf 'user = %s\n' "$(quoted "elastic:$ELASTIC_PASSWORD")") \
        --header 'Content-Type: application/json' --request "$1" --data-binary @- "$ELASTICSEARCH_URL$2"
}

ask() {
    local answer
    answer=$(request "$@") || { echo "users.sh: $1 $2: $answer$(full_disks)" >&2; exit 1; }
}

# Elasticsearch puts no index on a disk that is 85 % full, and lets those who ask for one wait.
full_disks() {
    local used node
    while read -r used node; do
        [[ $used =~ ^[0-9]+$ ]] && ((used >= 85)) &&
            printf ' (the disk of %s is %s %% full, too full for a new index: make room)' "$node" "$used"
    done < <(request GET '/_cat/allocation?h=disk.percent,node' < /dev/null 2> /dev/null) || true
}

ask POST /_security/user/kibana_system/_password <<< "{\"password\": $(quoted "$KIBANA_PASSWORD")}"
ask PUT /_security/role/treeline < "$(dirname "$0")/role.json"
ask PUT /_security/user/treeline <<< "{\"password\": $(quoted "$TREELINE_ELASTICSEARCH_PASSWORD"), \"roles\": [\"treeline\"]}"
echo "Users are in place."
