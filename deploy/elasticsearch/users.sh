#!/bin/bash
# Sets the password of Kibana's user and makes the service's role and user. PUT replaces, so running it again is safe.
set -euo pipefail

quoted() { # the text as a JSON string, which is also how curl's configuration quotes
    local text=${1//\\/\\\\}
    printf '"%s"' "${text//\"/\\\"}"
}

# The password goes in by a file descriptor: arguments are visible to every process.
ask() { # METHOD PATH BODY
    curl --silent --show-error --fail-with-body --max-time 30 --cacert "$ELASTICSEARCH_CA" \
        --config <(printf 'user = %s\n' "$(quoted "elastic:$ELASTIC_PASSWORD")") \
        --header 'Content-Type: application/json' --request "$1" "$ELASTICSEARCH_URL$2" --data "$3" > /dev/null
}

ask POST /_security/user/kibana_system/_password "{\"password\": $(quoted "$KIBANA_PASSWORD")}"
ask PUT /_security/role/treeline "$(cat "$(dirname "$0")/role.json")"
ask PUT /_security/user/treeline \
    "{\"password\": $(quoted "$TREELINE_ELASTICSEARCH_PASSWORD"), \"roles\": [\"treeline\"], \"full_name\": \"Treeline service\"}"
echo "Users are in place."
