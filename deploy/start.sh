#!/bin/sh
# Starts the service: waits for the engine, loads a small index if there is none (or rebuilds one of another version from
# its own sources), then becomes the server.
# All configuration comes from TREELINE_* settings, so it runs the same inside and outside a container.
set -eu

source=${TREELINE_FIRST_SOURCE-python-env}
index=${TREELINE_INDEX:-default}

# A container's first process only gets signals that it handles, and a shell does not forward any. Without this, stopping
# the container would kill a load in the end, and the next container would find the index still locked.
child=
stopped=
trap 'stopped=yes; [ -z "$child" ] || kill -TERM "$child" 2> /dev/null || :' TERM INT

run() { # a command that is stopped cleanly when this script is
    "$@" &
    child=$!
    ended=0
    wait "$child" || ended=$?
    # A signal ends `wait`, not the command.
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
        # A bad source, or another container is already loading: serve anyway; an index is opened once there is one.
        2) echo "treeline-start: the service starts without an index and opens it as soon as there is one" >&2 ;;
        # The engine or the disk failed: exit, so that the container is restarted.
        *) exit "$code" ;;
    esac
fi

exec python -m treeline.service.server
