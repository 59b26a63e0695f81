# Runs steps side by side, and says of each how it came out and how long it took; for scripts that source this.
#
#   step NAME COMMAND…       runs a command, shows what NAME is to show of its output, or all of it if it fails
#   lane NAME COMMAND…       the same in the background, as soon as fewer lanes are busy than there are cores
#   wait_for_lanes           waits for all of them
#   has_failed               whether any step has not passed, whatever became of it
#
# `shown NAME`, which the script defines, prints what is worth seeing of a step that passed, from $logs/NAME.out.

logs=$(mktemp -d)
lanes=()
# The steps that were begun. One that passed leaves a file behind: no failure can be lost with the process that had it.
begun=()
# Each step is a process group, so that none outlives the script.
set -m
stop() {
    local lane
    for lane in "${lanes[@]}"; do kill -- "-$lane" 2>/dev/null || true; done
    rm -rf "$logs"
}
trap stop EXIT

fail() {
    printf '%s\n' "$*"
    return 1
}

step() {
    local name=$1 start=$SECONDS status=0
    shift
    # In a process of its own: in a condition bash would go on after what failed.
    "$@" >"$logs/$name.out" 2>"$logs/$name.err" &
    wait $! || status=$?
    {
        if [ "$status" -eq 0 ]; then
            printf '%s: passed in %d s\n' "$name" $((SECONDS - start))
            shown "$name" | sed 's/^/    /'
        else
            printf '%s: FAILED in %d s, exit status %d\n' "$name" $((SECONDS - start)) "$status"
            cat "$logs/$name.out" "$logs/$name.err"
        fi
    } >"$logs/$name.shown"
    cat "$logs/$name.shown"
    if [ "$status" -eq 0 ]; then touch "$logs/$name.passed"; fi
    return "$status"
}

lane() {
    while [ "$(jobs -pr | wc -l)" -ge "$(nproc)" ]; do wait -n || true; done
    begun+=("$1")
    step "$@" &
    lanes+=($!)
}

wait_for_lanes() {
    while [ "$(jobs -pr | wc -l)" -gt 0 ]; do wait -n || true; done
    lanes=()
}

has_failed() {
    local name failed=()
    for name in "${begun[@]}"; do
        if [ ! -e "$logs/$name.passed" ]; then failed+=("$name"); fi
    done
    if [ ${#failed[@]} -eq 0 ]; then return 1; fi
    echo "not passed: ${failed[*]}"
}
