#!/usr/bin/env bash
# Measures peerd, and prints tables.
#
#   scripts/bench.sh                 merge, store and wire beside Loro, Yrs and plain SQLite; about ten minutes
#   scripts/bench.sh --quick         the same without the rows of a million operations
#   scripts/bench.sh --only TEXT     only the rows whose work contains TEXT
#   scripts/bench.sh verbs           time and peak memory of each verb at 10k, 100k and 1M objects
#   scripts/bench.sh api             the local API: start, memory, reads beside a bare NIO server, writes, files
#                                    beside nginx, live changes
#   scripts/bench.sh history         a past moment after up to 1M writes, beside Loro and Automerge
#   scripts/bench.sh compaction      the database before and after compaction, by number of writes; time and memory
#   scripts/bench.sh year            the databases of three devices after a simulated year, beside the live data
#   scripts/bench.sh sharing         what people share: merge, bytes, time and memory, by how much is shared with whom
#   scripts/bench.sh before COMMIT   writing 100,000 properties beside an earlier commit
#   scripts/bench.sh reads           10,000 reads a second beside a bulk sync, and the same in C with SQLite
#
# Each mode with a word takes `--help`. `verbs` and `reads` keep what they made, in the folder that BENCH_CACHE names.
#
# The row of live latency and `verbs` need a release build of peerd, and the rows of the simulator one of Simulator, or
# others named by PEERD and SIMULATOR; rows are left out if there is none. BENCH_SCRATCH_PATH is where Swift builds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

swift=${SWIFT:-$(scripts/swift-path.sh)}
scratch=${BENCH_SCRATCH_PATH:-.build}
programs=.build-bench
cache=${BENCH_CACHE:-.build-bench/cache}
mkdir -p "$programs"

# Builds a Swift program for release.
build() {
    "$swift" build -c release --scratch-path "$scratch" --product "$1"
}

# Builds a C program of Benchmarks/Beside, linked with a library.
compile() {
    "${CC:-gcc}" -O2 -pthread -o "$programs/$1" "Benchmarks/Beside/$1.c" "-l$2"
}

peerd=${PEERD:-$scratch/release/peerd}
case ${1:-} in
verbs)
    if [ ! -x "$peerd" ]; then
        echo "bench: there is no $peerd; build it with \"make build\", or name another by PEERD" >&2
        exit 1
    fi
    exec python3 Benchmarks/Beside/verbs.py --peerd "$peerd" --cache "$cache" "${@:2}"
    ;;
reads)
    build BulkSyncReader
    compile reads sqlite3
    exec python3 Benchmarks/Beside/reads.py --reader "$scratch/release/BulkSyncReader" --reads "$programs/reads" \
        --cache "$cache" "${@:2}"
    ;;
api)
    command -v wrk >/dev/null || { echo "bench: install wrk (Debian: apt-get install wrk)" >&2; exit 1; }
    build peerd
    build BareServer
    compile download c
    exec python3 Benchmarks/Beside/api.py --peerd "$scratch/release/peerd" --bare "$scratch/release/BareServer" \
        --download "$programs/download" --cache "$cache" "${@:2}"
    ;;
compaction | year)
    build peerd
    exec python3 "Benchmarks/Beside/$1.py" --peerd "$scratch/release/peerd" --cache "$cache" "${@:2}"
    ;;
sharing)
    build Workbench
    build peerd
    exec python3 Benchmarks/Beside/sharing.py --workbench "$scratch/release/Workbench" \
        --peerd "$scratch/release/peerd" "${@:2}"
    ;;
before)
    commit=$(git rev-parse --verify --quiet "${2:-}^{commit}") ||
        { echo "bench: name a commit of this repository: scripts/bench.sh before COMMIT" >&2; exit 1; }
    earlier=.build-bench/$commit
    if [ ! -d "$earlier" ]; then
        git clone --quiet --no-checkout . "$earlier"
        git -C "$earlier" checkout --quiet --detach "$commit"
    fi
    for product in Workbench peerd; do
        build "$product"
        (cd "$earlier" && scratch=.build && build "$product")
    done
    exec python3 Benchmarks/Beside/before.py --before "$earlier/.build/release" --after "$scratch/release" "${@:3}"
    ;;
esac

venv=.build-bench-venv
requirements=Benchmarks/requirements.txt
if ! cmp -s "$requirements" "$venv/installed.txt" || ! "$venv/bin/python" -c '' 2>/dev/null; then
    echo "bench: making a Python environment with Loro, Yrs and Automerge in $venv"
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements"
    cp "$requirements" "$venv/installed.txt"
fi

if [ "${1:-}" = history ]; then
    build peerd
    exec "$venv/bin/python" Benchmarks/Beside/history.py --peerd "$scratch/release/peerd" --cache "$cache" "${@:2}"
fi

build Workbench
compile floor sqlite3
compile primitives sodium
[ -x "$peerd" ] || peerd=
simulator=${SIMULATOR:-$scratch/release/Simulator}
[ -x "$simulator" ] || simulator=
exec "$venv/bin/python" Benchmarks/Beside/bench.py --workbench "$scratch/release/Workbench" \
    --floor "$programs/floor" --primitives "$programs/primitives" ${peerd:+--peerd "$peerd"} \
    ${simulator:+--simulator "$simulator"} "$@"
