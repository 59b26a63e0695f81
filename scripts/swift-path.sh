#!/usr/bin/env bash
# Prints the path of the Swift driver: the one on PATH, else the one in the usual place.
set -euo pipefail

for candidate in "$(command -v swift || true)" /opt/swift/usr/bin/swift /usr/share/swift/usr/bin/swift; do
    if [ -n "$candidate" ] && [ -x "$candidate" ]; then
        printf '%s\n' "$candidate"
        exit 0
    fi
done
echo "No Swift toolchain found. Put \"swift\" on PATH; see https://www.swift.org/install/linux/." >&2
exit 1
