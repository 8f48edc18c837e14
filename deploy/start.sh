#!/bin/sh
# Starts the service: waits for the engine, loads a small index when there is none (or makes an index of another version
# anew from its own sources), then becomes gunicorn.
# All it needs to know comes from TREELINE_* settings, so it runs the same in a container and out of one.
set -eu

source=${TREELINE_FIRST_SOURCE-python-env}
index=${TREELINE_INDEX:-default}

treeline wait

if [ -n "$source" ]; then
    code=0
    treeline first-index "$source" --name "$index" || code=$?
    case $code in
        0) ;;
        # A bad source, or another container that is loading already: serve; an index is opened when there is one.
        2) echo "treeline-start: the service starts without an index and opens it as soon as there is one" >&2 ;;
        # The engine or the disk failed: end, so that whoever started this script starts it again.
        *) exit "$code" ;;
    esac
fi

exec gunicorn --config python:service.gunicorn_conf
