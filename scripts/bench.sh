#!/usr/bin/env bash
# Measures peerd beside Loro, Yrs and plain SQLite, and prints a table.
#
#   scripts/bench.sh                 all rows; about ten minutes, most of them building
#   scripts/bench.sh --quick         without the rows of a million operations
#   scripts/bench.sh --only TEXT     only the rows whose work contains TEXT
#
# The row of live latency needs a release build of peerd, and those of the simulator one of Simulator, or others named
# by PEERD and SIMULATOR; rows are left out if there is none. BENCH_SCRATCH_PATH is where the benchmarks are built.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

swift=${SWIFT:-$(scripts/swift-path.sh)}
scratch=${BENCH_SCRATCH_PATH:-.build-bench}
venv=.build-bench-venv
requirements=Benchmarks/requirements.txt

if ! cmp -s "$requirements" "$venv/installed.txt" || ! "$venv/bin/python" -c '' 2>/dev/null; then
    echo "bench: making a Python environment with Loro and Yrs in $venv"
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements"
    cp "$requirements" "$venv/installed.txt"
fi

"$swift" build -c release --package-path Benchmarks --scratch-path "$scratch" --product Workbench
floor=$scratch/floor
"${CC:-gcc}" -O2 -o "$floor" Benchmarks/Beside/floor.c -lsqlite3
primitives=$scratch/primitives
"${CC:-gcc}" -O2 -o "$primitives" Benchmarks/Beside/primitives.c -lsodium

peerd=${PEERD:-.build/release/peerd}
[ -x "$peerd" ] || peerd=
simulator=${SIMULATOR:-.build/release/Simulator}
[ -x "$simulator" ] || simulator=
exec "$venv/bin/python" Benchmarks/Beside/bench.py --workbench "$scratch/release/Workbench" --floor "$floor" \
    --primitives "$primitives" ${peerd:+--peerd "$peerd"} ${simulator:+--simulator "$simulator"} "$@"
