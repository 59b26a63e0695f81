#!/usr/bin/env bash
# What the simulator shows of each commit: the scenarios, the shorter lives, chains of all sizes from store to store,
# small worlds (of two kinds a part), random histories of the merge alone, canaries that must fail, all bugs that can be
# planted, and seeds of each topology, 5 % of them run twice.
#
#   scripts/simulate.sh              what `make test` runs
#   scripts/simulate.sh NAME…        only these steps
#
# It runs the same seeds each time and on each machine, so its verdict is about the commit: a seed that fails has found
# a bug that the commit brought, or that was there and is reached now. It is told with the line that runs it again. New
# seeds are for `make hunt`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Two runs of a seed are in two processes, whose hash tables must be free to differ.
unset SWIFT_DETERMINISTIC_HASHING

simulator=${SIMULATOR:-$(scripts/checked.sh build --show-bin-path)/Simulator}
# The same with bugs that can be planted.
planted=${PLANTED:-$(scripts/mutants.sh --build)}
topologies=(mesh star line ring twoCliques sneakernet churn)
# Together these reach every mark, and are a multiple of 3: a third has the limits that users get.
first=1
seed_count=240
# Where nothing else is wrong, each run finds this bug, and finds it as one of these.
canary_bug=livePushForgotten
canary_finding='notPushed|notConverged'
# Random histories of the merge alone, and a bug that the first few of them find.
history_count=10000
history_bug=lastArrivalWins
# The invariants of the tested build may see it first: they call it damage.
history_finding='divergence|modelDisagrees|damage'
relay_change_count=20000
# Of processor time for one planted bug: several times what the slowest takes.
bug_second_count=240
# The lives that take seconds; `make hunt` has all.
lives=(appending-at-one-place.scn hundreds-of-restores.scn large-and-emptied.scn toggling-in-turn.scn)
# Of histories with forks, and of bytes after which a connection breaks; `make hunt` takes each.
small_world_stride=7
# Seeds and histories in which names of changes are cut so short that they collide all the time (P35).
name_bits=4
colliding_seed_count=120

source scripts/steps.sh

# The steps, each a function; what one prints is shown if it fails.

scenarios() {
    "$simulator" scenario Tests/SimulatorTests/Scenarios/*.scn
}

# Chains of all sizes, from store to store.
relays() {
    "$simulator" relays --first "$first" --changes "$relay_change_count"
}

lives() {
    "$simulator" life "${lives[@]/#/Tests/SimulatorTests/Lives/}"
}

small_worlds() {
    "$simulator" explore --every "$small_world_stride"
}

# Runs a line that a failure has printed: with the bug that was planted it must find the same again, without it nothing.
fails_again() {
    local bug=$1 finding=$2 line=$3 status=0
    [[ $line == *" --planted $bug"* ]] || fail "a run with $bug planted prints no line that runs it again: $line"
    line=${line/scripts\/mutants.sh/$planted}
    bash -c "$line" >"$logs/$bug.again" || status=$?
    if [ "$status" -ne 1 ] || ! grep -Eq "^FOUND ($finding):" "$logs/$bug.again"; then
        fail "what was found with $bug planted is not found again (exit status $status): $line"
    fi
    line=${line/ --planted $bug/}
    bash -c "$line" >"$logs/$bug.plain" || fail "it was not $bug that was found, for this fails too: $line"
}

# That what is looked for can be found: with a bug planted `run` must fail, and so must the line that it prints.
canary() {
    local status=0 line
    "$planted" run --planted "$canary_bug" --faults none --first "$first" --seeds 8 \
        --jobs 1 >"$logs/canary.run" || status=$?
    cat "$logs/canary.run"
    [ "$status" -eq 1 ] || fail "a run with $canary_bug planted has exit status $status, not 1"
    line=$(awk -v finding="^($canary_finding)\$" \
        '$1 == "FAILED" && $2 ~ finding { getline; sub(/^ +/, ""); print; exit }' "$logs/canary.run")
    fails_again "$canary_bug" "$canary_finding" "$line"
}

# The merge alone; and with a bug planted in it, a history that is found, shrunk, and fails again as it is printed.
histories() {
    local status=0 line
    "$simulator" histories --first "$first" --seeds "$history_count" --jobs 1
    "$planted" histories --planted "$history_bug" --first "$first" --seeds 64 --jobs 1 \
        >"$logs/histories.bug" 2>"$logs/histories.bug.err" || status=$?
    [ "$status" -eq 1 ] && grep -Eq "^FAILED +($history_finding) in" "$logs/histories.bug" ||
        fail "histories with $history_bug planted have exit status $status: $(cat "$logs/histories.bug")"
    line=$(sed -n "s/^ *\(scripts\/mutants.sh histories --case .*\)/\1/p" "$logs/histories.bug" | head -n 1)
    fails_again "$history_bug" "$history_finding" "$line"
}

# Whatever names mean, all must come to mean the same, and nothing may wait for ever.
colliding_names() {
    "$planted" histories --name-bits "$name_bits" --first "$first" --seeds "$history_count" --jobs 1
    "$planted" run --name-bits "$name_bits" --first "$first" --seeds "$colliding_seed_count" --jobs 1 \
        --faults restoredMachine,clonedDisk,copiedDatabase,equivocation,repeatedForks,hostileWrite,partition,isolation
}

# Each is looked for with the scenarios that must fail with it, and where there are none with seeds.
planted_bugs() {
    "$planted" mutants --first-seed "$first" --brief --seconds "$bug_second_count" --jobs 1
}

seeds() {
    local topology=$1
    "$simulator" run --topology "$topology" --first "$first" --seeds "$seed_count" --jobs 1
    grep -Eq '^seeds +[0-9]+, [1-9][0-9]* of them run twice' "$logs/$topology.out" || fail "no seed was run twice"
}

# What is worth seeing of a step that passed.
shown() {
    case $1 in
        scenarios) echo "$(grep -c ': passed' "$logs/$1.out") runs" ;;
        small_worlds) grep '^[a-z]' "$logs/$1.out" ;;
        # Not as it stands: whoever looks for what failed must not find what had to.
        canary) awk '/^FAILED/ { sub(/FAILED/, "as it must:"); print; getline; print; exit }' "$logs/$1.out" ;;
        planted_bugs) tail -n 3 "$logs/$1.out" ;;
        lives | marks | relays | histories | colliding_names) cat "$logs/$1.out" ;;
        *) awk 'NR <= 4' "$logs/$1.out" ;;
    esac
}

# The marks that no seed of any topology has reached.
check_marks() {
    local topology missed
    for topology in "${topologies[@]}"; do
        grep -q '^marks ' "$logs/$topology.out" || fail "$topology does not say which marks it has reached"
    done
    missed=$(cd "$logs" && sed -n 's/^missed  *//p' "${topologies[@]/%/.out}" | tr ' ' '\n' | sort | uniq -c |
        awk -v all="${#topologies[@]}" '$1 == all { printf "%s ", $2 }')
    if [ -n "$missed" ]; then fail "no seed has reached: $missed"; else echo "every mark was reached"; fi
}

is_topology() { [[ " ${topologies[*]} " == *" $1 "* ]]; }

wanted=("$@")
# The longest first, so that both cores are busy to the end.
[ $# -gt 0 ] || wanted=(
    lives planted_bugs small_worlds "${topologies[@]}" scenarios histories colliding_names relays canary
)
start=$SECONDS
for name in "${wanted[@]}"; do
    if is_topology "$name"; then lane "$name" seeds "$name"; else lane "$name" "$name"; fi
done
wait_for_lanes
if [ $# -eq 0 ]; then step marks check_marks || true; begun+=(marks); fi
echo "the simulator took $((SECONDS - start)) s"
! has_failed
