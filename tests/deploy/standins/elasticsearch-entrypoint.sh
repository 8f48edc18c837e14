#!/bin/bash
# Turns dotted environment names into settings and ELASTIC_PASSWORD into the keystore, as the official entry point does.
# This distribution cannot keep users in an index: TEST_USER_PASSWORD makes the service's user in the file realm instead.
set -euo pipefail
[ $# -eq 0 ] || exec "$@"

settings=()
while IFS='=' read -r name value; do
    case $name in
        xpack.ml.enabled) ;;  # the module is not part of this distribution
        *.*) settings+=("-E$name=$value") ;;
    esac
done < <(env | grep -E '^[a-z0-9_]+\.[a-z0-9_.]+=')

if [ -n "${ELASTIC_PASSWORD:-}" ] && [ ! -f config/elasticsearch.keystore ]; then
    bin/elasticsearch-keystore create
    bin/elasticsearch-keystore add --stdin bootstrap.password <<< "$ELASTIC_PASSWORD"
    if [ -n "${TEST_USER_PASSWORD:-}" ]; then
        echo "treeline: $(tr '\n' ' ' < /deploy/role.json)" > config/roles.yml
        bin/elasticsearch-users useradd treeline -p "$TEST_USER_PASSWORD" -r treeline
    fi
fi
exec bin/elasticsearch "${settings[@]}"
