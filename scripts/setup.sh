#!/usr/bin/env bash
# Makes a Debian or Ubuntu machine ready to build, test and demonstrate peerd.
#
#   scripts/setup.sh           system packages, and the Python environment of the tests
#   scripts/setup.sh system    system packages only
#
# Does nothing, quickly, when nothing is missing.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=(
    libsodium-dev libzstd-dev libqrencode-dev           # the build
    libsqlite3-dev pkg-config
    python3 python3-venv                                # the system tests and the demo
    iproute2 nftables sqlite3                           # network namespaces, packet loss, reading the database
    iso-codes                                           # the data set of the demo
)
# Tests that need these are skipped where the system has no such package.
optional_packages=(
    chromium chromium-driver                            # pages in a browser
    ffmpeg                                              # sound, encoded and decoded
    systemd-container                                   # a machine with services
    libfaketime                                         # a library that is loaded before the program
)
venv=.build-venv
requirements=scripts/requirements-test.txt

fail() {
    printf 'setup: %s\n' "$*" >&2
    exit 1
}

check_swift() {
    local swift
    swift=$(scripts/swift-path.sh)
    local version
    version=$("$swift" --version 2>&1 | sed -n 's/.*Swift version \([0-9]*\)\.\([0-9]*\).*/\1 \2/p' | head -n 1)
    [ -n "$version" ] || fail "\"$swift --version\" does not answer as expected; is the toolchain complete?"
    local major=${version% *} minor=${version#* }
    if [ "$major" -lt 6 ] || { [ "$major" -eq 6 ] && [ "$minor" -lt 3 ]; }; then
        fail "peerd needs Swift 6.3 or newer, but $swift is $major.$minor; see https://www.swift.org/install/linux/."
    fi
}

is_installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Whether apt knows which packages there are.
has_lists() {
    apt-cache policy apt 2>/dev/null | grep 'Packages$' >/dev/null
}

is_available() {
    apt-cache policy "$1" 2>/dev/null | grep 'Candidate: [0-9]' >/dev/null
}

install_packages() {
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        pkg-config --exists libsodium libzstd libqrencode sqlite3 2>/dev/null && command -v python3 >/dev/null && return
        fail "this is not Debian or Ubuntu; install what these packages hold by hand: ${packages[*]}"
    fi
    local missing=() package
    for package in "${packages[@]}"; do
        is_installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}"
    [ "${1:-}" = all ] || return 0
    missing=()
    for package in "${optional_packages[@]}"; do
        is_installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    has_lists || apt_get update </dev/null || return 0
    local available=()
    for package in "${missing[@]}"; do
        if is_available "$package"; then available+=("$package"); fi
    done
    [ ${#available[@]} -gt 0 ] || return 0
    # The subshell ends where they cannot be installed, and the setup goes on.
    (apt_install "${available[@]}") || echo "setup: going on without ${available[*]}; their tests are skipped"
}

apt_get() {
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "run this as root once, to install packages"
        as_root=(sudo)
    fi
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 "$@"
}

apt_install() {
    echo "setup: installing $*"
    apt_get update </dev/null ||
        fail "the package lists could not be fetched. Is this machine online? Still missing: $*"
    apt_get install -y --no-install-recommends "$@" </dev/null ||
        fail "apt-get could not install $*; its own message is above."
}

make_python_environment() {
    local stamp="$venv/installed.txt"
    # A virtual environment keeps absolute paths; one that was moved does not start, and is made anew.
    if cmp -s "$requirements" "$stamp" && "$venv/bin/python" -c '' 2>/dev/null; then
        return
    fi
    echo "setup: making the Python environment of the tests in $venv"
    rm -rf "$venv"
    python3 -m venv "$venv" || fail "python3 could not make a virtual environment; is python3-venv installed?"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r "$requirements" ||
        fail "pip could not install what $requirements lists. Is this machine online?"
    cp "$requirements" "$stamp"
}

check_swift
install_packages "${1:-all}"
case "${1:-all}" in
    all) make_python_environment ;;
    system) ;;
    *) fail "unknown argument \"$1\"; say nothing, or \"system\"." ;;
esac
