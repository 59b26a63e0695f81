#!/usr/bin/env bash
# Checks the public surface of the library, and makes its documentation: .build-docs/PeerdKit.doccarchive.
#
#   scripts/docs.sh FOLDER             from the modules in FOLDER/Modules, which "swift build --show-bin-path" names
#   scripts/docs.sh FOLDER --update    write PUBLIC-API.txt instead of comparing it, and make no documentation
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=${1:?"the folder that swift build --show-bin-path prints"}
swift=$(scripts/swift-path.sh)
information=$("$swift" -print-target-info)
target=$(sed -n 's/.*"unversionedTriple": "\(.*\)".*/\1/p' <<<"$information")
# From the toolchain's library, since "swift" on PATH may only stand for the toolchain.
docc=$(sed -n 's/.*"runtimeResourcePath": "\(.*\)".*/\1/p' <<<"$information")/../../bin/docc
catalog=Sources/PeerdKit/PeerdKit.docc
output=.build-docs
graphs=$output/graphs
# The modules of the library, from the one that applications import to those below it.
modules=(PeerdPreview PeerdKit PeerTransport Persistence Engine SyncProtocol PeerCrypto CRDTCore)

rm -rf "$output"
mkdir -p "$graphs"

# Where the C modules are that the dependencies wrap: as the build has told the compiler.
plan=$build/../../$(basename "$build").yaml
mapfile -t module_maps < <(grep -oh -- '-fmodule-map-file=[^"]*' "$plan" | sort -u | sed 's/^/-Xcc\n/')
for module in "${modules[@]}"; do
    "$swift" symbolgraph-extract -module-name "$module" -I "$build/Modules" -target "$target" "${module_maps[@]}" \
        -minimum-access-level public -skip-synthesized-members -emit-extension-block-symbols \
        -experimental-allowed-reexported-modules=CRDTCore -output-dir "$graphs"
done

python3 scripts/public_api.py "$graphs" PUBLIC-API.txt "${@:2}"
[ "${2:-}" != --update ] || exit 0

"$docc" convert "$catalog" --additional-symbol-graph-dir "$graphs/docc" --output-dir "$output/PeerdKit.doccarchive" \
    --fallback-display-name PeerdKit --fallback-bundle-identifier peerd.PeerdKit --warnings-as-errors
echo "$output/PeerdKit.doccarchive"
