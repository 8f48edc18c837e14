#!/bin/sh
# Starts the service: waits for the engine, loads a small index when there is none, then becomes gunicorn.
# All it needs to know comes from TREELINE_* settings, so it runs the same in a container and out of one.
set -eu

treeline wait

# Two containers that start at once: one loads, the other is refused and finds the index a moment later.
tries=0
while [ -n "${TREELINE_FIRST_SOURCE-python-env}" ] && ! treeline wait --index --seconds 0 2>/dev/null; do
    tries=$((tries + 1))
    if [ "$tries" -gt 3 ]; then
        echo "treeline-start: no index could be loaded; the service starts without one and says so" >&2
        break
    fi
    treeline index "${TREELINE_FIRST_SOURCE-python-env}" --name "${TREELINE_INDEX:-default}" ||
        treeline wait --index --seconds 60 || true
done

exec gunicorn --config python:service.gunicorn_conf
