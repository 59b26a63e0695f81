#!/usr/bin/env bash
# Makes a Debian package of the program, with the Swift library inside it: peerd_VERSION_ARCH.deb.
#
#   scripts/deb.sh FOLDER [PACKAGE]    FOLDER is what "make install DESTDIR=FOLDER PREFIX=/usr" has filled
#
# What it depends on is looked up: the packages that the libraries come from which the program is linked with.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

root=${1:?"the folder that make install has filled"}
binary=$root/usr/bin/peerd
version=$("$binary" --version)
architecture=$(dpkg --print-architecture)
package=${2:-peerd_${version}_${architecture}.deb}

# "libc6 (>= the version here)" and so on: what was built here may need what is here.
depends=$(
    ldd "$binary" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | xargs -r readlink -f | sort -u |
        while read -r library; do
            # Packages made before / and /usr became one have their libraries in /lib.
            dpkg-query -S "$library" 2>/dev/null || dpkg-query -S "${library#/usr}"
        done | cut -d: -f1 | sort -u |
        while read -r name; do
            dpkg-query -W -f='${Package} (>= ${Version})\n' "$name" | sed -E 's/(\(>= [^-+~)]*)[^)]*\)/\1)/'
        done | paste -sd, | sed 's/,/, /g'
)

mkdir -p "$root/DEBIAN"
cat > "$root/DEBIAN/control" <<CONTROL
Package: peerd
Version: $version
Architecture: $architecture
Maintainer: The peerd developers <peerd@localhost>
Depends: $depends
Section: net
Priority: optional
Installed-Size: $(du -ks "$root/usr" | cut -f1)
Description: structured data on several machines, editable offline
 Objects with properties, arranged in a tree, on all of your machines, without a server. Each can be edited offline,
 and when machines meet again their edits come together.
CONTROL
for script in postinst prerm; do install -m 755 Packaging/deb-daemons "$root/DEBIAN/$script"; done
dpkg-deb --root-owner-group --build "$root" "$package" > /dev/null
rm -r "$root/DEBIAN"
echo "$package"
