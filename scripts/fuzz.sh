#!/usr/bin/env bash
# Runs the coverage-guided fuzzers of the decoders (libFuzzer with AddressSanitizer), one after another.
#
#   scripts/fuzz.sh                    ten minutes each
#   scripts/fuzz.sh SECONDS            so many seconds each
#   scripts/fuzz.sh SECONDS NAME…      only these
#   scripts/fuzz.sh --build            build only
#   scripts/fuzz.sh --keep             put the smallest set of inputs with the same coverage into Fuzz/Corpus
#
# An input that crashes, hangs or takes too much memory is written to Fuzz/Crashers/NAME; run it again with
#   FUZZ_TARGET=NAME .build-fuzz/fuzz FILE
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

swiftc="$(dirname "$(scripts/swift-path.sh)")/swiftc"
build=.build-fuzz
# What the process holds at its end is no leak of a decoder; memory kept back after use would count against the limit.
export ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=16
targets=(run message link channel record value json position compression beacon invite)
# Kept inputs are small, so that all of them together stay well below a megabyte.
kept_byte_count=100000

compile() {
    local name=$1 flags
    shift
    flags=(-O -wmo -swift-version 6 -package-name peerd -module-name "$name" -I "$build" \
        -I Sources/CSodium -I Sources/CZstd
        -sanitize=fuzzer,address -parse-as-library
        -enable-upcoming-feature ExistentialAny -enable-upcoming-feature MemberImportVisibility
        -enable-upcoming-feature NonisolatedNonsendingByDefault -enable-experimental-feature Lifetimes)
    local inputs=("$@") newest
    newest=$(find "${inputs[@]}" scripts/fuzz.sh -newer "$build/$name.o" -print -quit 2>/dev/null || true)
    [ -f "$build/$name.o" ] && [ -z "$newest" ] && [ -z "${rebuilt:-}" ] && return
    rebuilt=yes
    [ "$name" = FuzzDriver ] || flags+=(-enable-upcoming-feature InternalImportsByDefault)
    find "${inputs[@]}" -name '*.swift' -print0 | sort -z |
        xargs -0 "$swiftc" "${flags[@]}" -emit-module -emit-module-path "$build/$name.swiftmodule" \
            -emit-object -o "$build/$name.o"
}

build_fuzzers() {
    mkdir -p "$build"
    compile CRDTCore Sources/CRDTCore
    compile PeerCrypto Sources/PeerCrypto
    compile SyncProtocol Sources/SyncProtocol
    compile Engine Sources/Engine
    compile DecoderExercises Fuzz/DecoderExercises
    compile FuzzDriver Fuzz/Driver
    [ -n "${rebuilt:-}" ] || [ ! -x "$build/fuzz" ] || return 0
    "$swiftc" -sanitize=fuzzer,address -use-ld=lld -parse-as-library -o "$build/fuzz" \
        "$build"/{CRDTCore,PeerCrypto,SyncProtocol,Engine,DecoderExercises,FuzzDriver}.o -lsodium -lzstd
}

fuzz() {
    local name=$1 seconds=$2
    mkdir -p "$build/corpus/$name" "Fuzz/Corpus/$name" "Fuzz/Crashers/$name"
    echo "== $name: $seconds s"
    FUZZ_TARGET=$name nice "$build/fuzz" -max_total_time="$seconds" -max_len=16384 \
        -rss_limit_mb=256 -malloc_limit_mb=64 -timeout=5 -print_final_stats=1 -verbosity=1 \
        -artifact_prefix="Fuzz/Crashers/$name/" \
        "$build/corpus/$name" "Fuzz/Corpus/$name" "$build/seeds/$name" >"$build/$name.log" 2>&1 || {
        tail -n 40 "$build/$name.log"
        return 1
    }
    grep -E '^(stat::|Done)|DONE' "$build/$name.log"
}

keep() {
    local name=$1
    mkdir -p "$build/merged"
    rm -rf "$build/merged/$name"
    mkdir -p "$build/merged/$name" "$build/corpus/$name" "Fuzz/Corpus/$name"
    FUZZ_TARGET=$name "$build/fuzz" -merge=1 -max_len=4096 "$build/merged/$name" \
        "$build/seeds/$name" "Fuzz/Corpus/$name" "$build/corpus/$name" >"$build/$name.merge.log" 2>&1
    rm -rf "Fuzz/Corpus/$name"
    mkdir -p "Fuzz/Corpus/$name"
    # The smallest first, as far as there is room.
    local total=0 size path
    while read -r size path; do
        total=$((total + size))
        [ "$total" -le "$kept_byte_count" ] || break
        cp "$path" "Fuzz/Corpus/$name/"
    done < <(find "$build/merged/$name" -type f -printf '%s %p\n' | sort -n)
}

seconds=600
mode=run
case "${1:-}" in
--build | --keep) mode=${1#--} ;;
"") ;;
*) seconds=$1 ;;
esac
[ $# -eq 0 ] || shift
[ $# -eq 0 ] || targets=("$@")

build_fuzzers
FUZZ_SEEDS="$build/seeds" "$build/fuzz" >/dev/null
[ "$mode" != build ] || exit 0
failed=()
for target in "${targets[@]}"; do
    if [ "$mode" = keep ]; then keep "$target"; else fuzz "$target" "$seconds" || failed+=("$target"); fi
done
find Fuzz/Crashers Fuzz/Corpus -type d -empty -delete 2>/dev/null || true
[ ${#failed[@]} -eq 0 ] || { echo "found something in: ${failed[*]}" >&2; exit 1; }
