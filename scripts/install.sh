#!/usr/bin/env bash
# Installs a program that was built, with its man pages, completions and systemd units.
#
#   scripts/install.sh PROGRAM DESTDIR PREFIX
#
# DESTDIR stands in front of all paths, and may be empty; PREFIX is what they begin with where they are used.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

program=$1 destination=$2 prefix=$3

install -D -m 755 -s "$program" "$destination$prefix/bin/peerd"
for shell in bash zsh fish; do
    case $shell in
        bash) file=$prefix/share/bash-completion/completions/peerd ;;
        zsh) file=$prefix/share/zsh/vendor-completions/_peerd ;;
        fish) file=$prefix/share/fish/vendor_completions.d/peerd.fish ;;
    esac
    mkdir -p "$(dirname "$destination$file")"
    "$program" completion "$shell" > "$destination$file"
    chmod 644 "$destination$file"
done
for unit in peerd.user.service:user/peerd.service peerd@.service:system/peerd@.service; do
    file=$destination$prefix/lib/systemd/${unit#*:}
    mkdir -p "$(dirname "$file")"
    sed "s#@BINDIR@#$prefix/bin#" "Packaging/${unit%%:*}" > "$file"
    chmod 644 "$file"
done
python3 scripts/man.py "$program" "$destination$prefix/share/man/man1"
for document in README.md CHANGELOG.md LICENSE docs/guide/*.md; do
    place=$destination$prefix/share/doc/peerd/${document#docs/}
    if [ -e "$document" ]; then install -D -m 644 "$document" "$place"; fi
done
