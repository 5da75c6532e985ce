# Shared by the scripts here: where the repository is, and how sections are printed. To be sourced.
# shellcheck shell=bash

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT"

# rustup installs for the user; a shell that was open before does not know it yet.
if ! command -v cargo >/dev/null 2>&1 && [ -f "$HOME/.cargo/env" ]; then
    # shellcheck source=/dev/null
    . "$HOME/.cargo/env"
fi

# say TEXT: a line to the person who watches.
say() {
    printf '%s\n' "$*"
}

# die TEXT: why the script stops.
die() {
    printf '%s\n' "$*" >&2
    exit 1
}

# section NAME COMMAND...: runs the command under a heading and says how long it took; stops if it fails.
section() {
    local name=$1 started=$SECONDS status
    shift
    printf '\n── %s\n' "$name"
    # Not `if ! "$@"`: as a condition, a function would run on past its own failures.
    set +e
    (
        set -e
        "$@"
    )
    status=$?
    set -e
    [ "$status" = 0 ] || die "── $name: FAILED after $((SECONDS - started)) s"
    printf '── %s: ok, %d s\n' "$name" $((SECONDS - started))
}

# quiet COMMAND...: runs the command; off a terminal its output is printed only if it fails.
quiet() {
    local log status=0
    if [ -t 1 ]; then
        "$@"
        return
    fi
    log=$(mktemp)
    "$@" >"$log" 2>&1 || status=$?
    [ "$status" = 0 ] || cat "$log" >&2
    rm -f "$log"
    return "$status"
}

# target_dir: where cargo builds.
target_dir() {
    printf '%s\n' "${CARGO_TARGET_DIR:-$ROOT/target}"
}

# FEATURES: what the checks build beside the default. Without clang the real stacks are left out, and their tests with them.
FEATURES=duetime-d3/tokio,duetime-d3/c
if [ "$(uname)" = Linux ] && command -v clang >/dev/null 2>&1; then FEATURES+=,duetime-cli/lab; fi
# WHOLE: the selection of packages and features that script/test tests. What is built for one of its sections is there for the
# next, as long as all of them select the same.
# shellcheck disable=SC2034
WHOLE=(--locked --workspace --exclude duetime-house --exclude duetime-python --features "$FEATURES")

# build_programs: builds the programs and examples of that, without optimisation; prints the folder of the programs.
build_programs() {
    cargo build --quiet "${WHOLE[@]}" --bins --examples >&2
    realpath "$(target_dir)/debug"
}

# environment NAME REQUIREMENTS: makes or keeps the virtual environment NAME beside the build, with what the file lists; prints
# its folder.
environment() {
    local place
    place=$(realpath -m "$(target_dir)")/python/$1
    if ! cmp -s "$2" "$place/requirements.txt"; then
        rm -rf "$place"
        python3 -m venv "$place" >&2
        "$place/bin/pip" install --quiet --disable-pip-version-check --requirement "$2" >&2
        cp "$2" "$place/requirements.txt"
    fi
    printf '%s\n' "$place"
}

# build_wheel TOOLS PROFILE FOLDER: builds the Python package by the maturin of the virtual environment TOOLS; FOLDER has only the
# wheel then, whose path is printed.
build_wheel() {
    rm -rf "$3"
    (cd python && PATH=$1/bin:$PATH maturin build --locked --quiet --profile "$2" --out "$3" >&2)
    find "$3" -name 'duetime-*.whl'
}

# browser_python: the Python that drives the browser in the tests of the pages.
browser_python() {
    local place
    place=$(environment browser tests/browser/requirements.txt)
    printf '%s\n' "$place/bin/python"
}

# What Debian signs its packages with, also on Ubuntu.
# shellcheck disable=SC2034
DEBIAN_KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
