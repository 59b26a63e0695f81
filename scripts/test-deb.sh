#!/usr/bin/env bash
# Installs a package in a bare Debian without a toolchain, and does there what the README's quick start does.
#
#   scripts/test-deb.sh PACKAGE.deb      as root; needs the network, for debootstrap and for what the package depends on
set -euo pipefail

package=$(readlink -f "$1")
codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
root=$(mktemp -d /tmp/peerd-deb.XXXXXX)
pids=()

finish() {
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    mountpoint -q "$root/proc" && umount "$root/proc"
    rm -rf --one-file-system "$root"
}
trap finish EXIT

command -v debootstrap > /dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y -q debootstrap > /dev/null
debootstrap --variant=minbase "$codename" "$root" > "$root.log" 2>&1 || { tail "$root.log"; exit 1; }
rm "$root.log"
mount -t proc proc "$root/proc"
cp "$package" "$root/peerd.deb"
cp /etc/resolv.conf "$root/etc/resolv.conf"
jail=(chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive)
inside() { "${jail[@]}" "$@"; }
inside apt-get install -y -q /peerd.deb > "$root/apt.log" 2>&1 || { tail "$root/apt.log"; exit 1; }
if inside sh -c 'command -v swift || find / -xdev -name "libswiftCore*" | grep .'; then
    echo "test-deb: there is a Swift library in the bare Debian" >&2
    exit 1
fi

# The quick start, with the two machines as two data directories.
wait_for() {
    for _ in $(seq 100); do
        if "$@" > /dev/null 2>&1; then return; fi
        sleep 0.1
    done
    echo "test-deb: in vain: $*" >&2
    exit 1
}
inside peerd init --dir /root/laptop --name laptop
# Not by the function, whose process would end in the place of the daemon.
"${jail[@]}" peerd run --dir /root/laptop --listen 127.0.0.1:7400 > "$root/laptop.log" 2>&1 & pids+=($!)
wait_for inside peerd invite --dir /root/laptop
inside peerd invite --dir /root/laptop | inside peerd join --dir /root/desk --name desk
"${jail[@]}" peerd run --dir /root/desk --listen 127.0.0.1:7401 > "$root/desk.log" 2>&1 & pids+=($!)
script -qec "chroot $root env -i /usr/bin/peerd invite --dir /root/laptop" /dev/null | grep '▀' > /dev/null ||
    { echo "test-deb: no QR code is drawn on a terminal" >&2; exit 1; }
id=$(inside peerd create --dir /root/laptop note title='Buy seeds' done=false)
wait_for inside peerd get --dir /root/desk "$id"
inside peerd set --dir /root/desk "$id" done=true
wait_for sh -c "chroot $root peerd get --dir /root/laptop $id done | grep true"
inside peerd tree --dir /root/desk
inside peerd doctor --dir /root/desk
test -s "$root/usr/share/man/man1/peerd.1.gz" && test -s "$root/usr/share/bash-completion/completions/peerd"
test -s "$root/usr/lib/systemd/user/peerd.service" && test -s "$root/usr/lib/systemd/system/peerd@.service"
inside apt-get remove -y -q peerd > /dev/null 2>&1
if [ -e "$root/usr/bin/peerd" ]; then echo "test-deb: the program is still there" >&2; exit 1; fi
echo "The quick start works in a bare Debian $codename."
