#!/bin/bash
# Imports every *.ndjson beside this script into Kibana; objects that exist are replaced, so running it again is safe.
set -euo pipefail

quoted() {
    local text=${1//\\/\\\\}
    printf '"%s"' "${text//\"/\\\"}"
}

for file in "$(dirname "$0")"/*.ndjson; do
    answer=$(curl --silent --show-error --fail-with-body --max-time 60 \
        --config <(printf 'user = %s\n' "$(quoted "elastic:$ELASTIC_PASSWORD")") \
        --header 'kbn-xsrf: treeline' --form "file=@$file" \
        "$KIBANA_URL/api/saved_objects/_import?overwrite=true")
    # Kibana answers 200 with "success": false when single objects could not be imported.
    case $answer in
        *'"success":true'*) echo "Imported $(basename "$file")." ;;
        *) echo "import.sh: $file: $answer" >&2; exit 1 ;;
    esac
done
