#!/usr/bin/env bash
# What continuous integration has the simulator do: scenarios, then a minute of fresh seeds for each topology, 5 % of
# them run twice.
#
#   scripts/simulate.sh              60 s a topology
#   scripts/simulate.sh SECONDS      so many seconds a topology
#
# Each commit has seeds of its own, and a commit always the same ones, so that what fails can be run again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-60}
swift=$(scripts/swift-path.sh)
build=(-c release --product Simulator)
"$swift" build "${build[@]}"
simulator=$("$swift" build "${build[@]}" --show-bin-path)/Simulator

commit=$(git -c safe.directory='*' rev-parse HEAD 2>/dev/null || true)
first=$((16#${commit:0:12}))
[ "$first" -gt 0 ] || first=1

"$simulator" scenario Tests/SimulatorTests/Scenarios/*.scn

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# One process a topology and core: two run at a time, so that each has its minute.
run_topology() {
    local topology=$1
    local minutes
    minutes=$(awk -v seconds="$seconds" 'BEGIN { print seconds / 60 }')
    if "$simulator" run --topology "$topology" --first "$first" --seeds 1000000 --minutes "$minutes" --jobs 1 \
        >"$logs/$topology" 2>/dev/null; then
        echo "$topology: $(head -n 2 "$logs/$topology" | tr -s ' ' | tr '\n' ' ')"
    else
        echo "$topology: FAILED"
        cat "$logs/$topology"
        touch "$logs/failed"
    fi
}

for pair in "mesh star" "line ring" "twoCliques sneakernet" "churn"; do
    pids=()
    for topology in $pair; do
        run_topology "$topology" &
        pids+=($!)
    done
    wait "${pids[@]}"
done
[ ! -e "$logs/failed" ] || exit 1
