#!/bin/sh
# Starts the service: waits for the engine, loads a small index when there is none (or makes an index of another version
# anew from its own sources), then becomes gunicorn, which runs the workers.
# All it needs to know comes from TREELINE_* settings, so it runs the same in a container and out of one.
set -eu

source=${TREELINE_FIRST_SOURCE-python-env}
index=${TREELINE_INDEX:-default}

# A container's first process gets no signal that it does not ask for, and a shell passes none on: told to stop, a load
# would be killed in the end, and the next container would find the index still held by it.
child=
stopped=
trap 'stopped=yes; [ -z "$child" ] || kill -TERM "$child" 2> /dev/null || :' TERM INT

run() { # a command that ends in order when this script is told to
    "$@" &
    child=$!
    ended=0
    wait "$child" || ended=$?
    # A signal ends the waiting, not what is waited for.
    while [ -n "$stopped" ] && kill -0 "$child" 2> /dev/null; do wait "$child" || ended=$?; done
    child=
    [ -z "$stopped" ] || exit 143
    return "$ended"
}

run treeline wait

if [ -n "$source" ]; then
    code=0
    run treeline first-index "$source" --name "$index" || code=$?
    case $code in
        0) ;;
        # A bad source, or another container that is loading already: serve; an index is opened when there is one.
        2) echo "treeline-start: the service starts without an index and opens it as soon as there is one" >&2 ;;
        # The engine or the disk failed: end, so that whoever started this script starts it again.
        *) exit "$code" ;;
    esac
fi

exec gunicorn --config python:treeline.service.gunicorn_conf
