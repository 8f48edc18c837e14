#!/bin/bash
# Sets the password of Kibana's user and makes the service's role and user. PUT replaces, so running it again is safe.
set -euo pipefail

quoted() { # the text as a JSON string, which is also how curl's configuration quotes
    local text=${1//\\/\\\\}
    printf '"%s"' "${text//\"/\\\"}"
}

# METHOD PATH, the body on standard input. Passwords go in by file descriptors: arguments are visible to every process.
ask() {
    local answer
    answer=$(curl --silent --show-error --fail-with-body --max-time 30 --cacert "$ELASTICSEARCH_CA" \
        --config <(printf 'user = %s\n' "$(quoted "elastic:$ELASTIC_PASSWORD")") \
        --header 'Content-Type: application/json' --request "$1" --data-binary @- "$ELASTICSEARCH_URL$2") ||
        { echo "users.sh: $1 $2: $answer" >&2; exit 1; }
}

ask POST /_security/user/kibana_system/_password <<< "{\"password\": $(quoted "$KIBANA_PASSWORD")}"
ask PUT /_security/role/treeline < "$(dirname "$0")/role.json"
ask PUT /_security/user/treeline <<< "{\"password\": $(quoted "$TREELINE_ELASTICSEARCH_PASSWORD"), \"roles\": [\"treeline\"]}"
echo "Users are in place."
