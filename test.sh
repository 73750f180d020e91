#!/usr/bin/env bash
# Checks everything that CI checks; works from any directory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# Where rustup puts cargo, for shells that do not know.
PATH="$PATH:${CARGO_HOME:-${HOME:-}/.cargo}/bin"

say() {
    printf '\n==> %s\n' "$*"
}

# Prints a command and runs it.
step() {
    say "$*"
    "$@"
}

# Makes sure that a command exists: need COMMAND DEBIAN_PACKAGE..
need() {
    local command=$1 packages=("${@:2}")
    if command -v "$command" >/dev/null; then
        return
    fi
    local root=()
    if [ "$(id -u)" -ne 0 ]; then
        root=(sudo -n)
    fi
    if ! command -v apt-get >/dev/null || ! "${root[@]}" true 2>/dev/null; then
        echo "$command is missing; install it (on Debian: apt-get install ${packages[*]}) and run this again" >&2
        exit 1
    fi
    say "$command is missing, installing from Debian: ${packages[*]}"
    "${root[@]}" apt-get update
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends "${packages[@]}"
}

need cc build-essential
# The etcd registry: its client is generated when it is built, its tests start servers of their own.
need protoc protobuf-compiler libprotobuf-dev
need etcd etcd-server
if ! command -v cargo >/dev/null; then
    echo "cargo is missing; install Rust from https://rustup.rs and run this again" >&2
    exit 1
fi

step cargo fmt --all --check
# A workspace of its own, whose peers are not built here.
step cargo fmt --manifest-path bench/Cargo.toml --all --check
step cargo clippy --workspace --all-targets --all-features --locked -- -D warnings
step env RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --all-features --locked
step cargo test --workspace --all-features --locked
# Once more where a feature of the service takes methods away.
step cargo test -p renamed --locked
if command -v cargo-deny >/dev/null; then
    step cargo deny --offline check bans licenses sources
else
    say "cargo-deny is missing, so bans, licences and sources go unchecked (cargo install cargo-deny --locked)"
fi

say "all checks passed"
