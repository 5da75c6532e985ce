# Shared functions of the scripts: repository root, sections, builds. To be sourced.
# shellcheck shell=bash

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT"

# rustup installs for the user; a shell that was already open does not have it on its path yet.
if ! command -v cargo >/dev/null 2>&1 && [ -f "$HOME/.cargo/env" ]; then
    # shellcheck source=/dev/null
    . "$HOME/.cargo/env"
fi

# say TEXT: prints a line.
say() {
    printf '%s\n' "$*"
}

# die TEXT: prints why the script stops, and exits.
die() {
    printf '%s\n' "$*" >&2
    exit 1
}

# section NAME COMMAND...: runs the command under a heading and prints its duration; exits if it fails.
section() {
    local name=$1 started=$SECONDS status
    shift
    printf '\n── %s\n' "$name"
    # Not `if ! "$@"`: in a condition, `set -e` is disabled, so a function would continue after errors.
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

# quiet COMMAND...: runs the command; without a terminal, prints its output only if it fails.
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

# target_dir: prints cargo's target folder.
target_dir() {
    printf '%s\n' "${CARGO_TARGET_DIR:-$ROOT/target}"
}

# FEATURES: features that the checks build in addition to the defaults. Without clang, the real stacks and their tests
# are omitted.
FEATURES=duetime-d3/tokio,duetime-d3/c,duetime-due/c
if [ "$(uname)" = Linux ] && command -v clang >/dev/null 2>&1; then FEATURES+=,duetime-cli/lab; fi
# WHOLE: the packages and features that script/test tests. Sections that use the same selection share their builds. The
# Python module has its own script; benches/d3 has no tests.
# shellcheck disable=SC2034
WHOLE=(--locked --workspace --exclude duetime-python --exclude duetime-bench-d3 --features "$FEATURES")

# build_programs: builds the programs and examples of this selection without optimisation; prints the folder of the
# programs.
build_programs() {
    cargo build --quiet "${WHOLE[@]}" --bins --examples >&2
    realpath "$(target_dir)/debug"
}

# environment NAME REQUIREMENTS: creates or reuses the virtual environment NAME in the target folder, with the
# requirements from the file; prints its folder.
environment() {
    local place
    place=$(realpath -m "$(target_dir)")/python/$1
    if ! cmp -s "$2" "$place/requirements.txt"; then
        rm -rf "$place" && python3 -m venv "$place" >&2 &&
            "$place/bin/pip" install --quiet --disable-pip-version-check --requirement "$2" >&2 &&
            cp "$2" "$place/requirements.txt" || return
    fi
    printf '%s\n' "$place"
}

# build_wheel TOOLS PROFILE FOLDER: builds the Python package with maturin from the virtual environment TOOLS. FOLDER
# then contains only the wheel; prints its path.
build_wheel() {
    rm -rf "$3"
    (cd python && PATH=$1/bin:$PATH maturin build --locked --quiet --profile "$2" --out "$3" >&2)
    find "$3" -name 'duetime-*.whl'
}

# browser_python: prints the path of the Python that drives the browser in the tests of the pages.
browser_python() {
    local place
    place=$(environment browser tests/browser/requirements.txt) || return
    printf '%s\n' "$place/bin/python"
}

# require_root COMMAND: exits unless the user is root.
require_root() {
    [ "$(id -u)" = 0 ] || die "$1 creates network namespaces and loads BPF programs: run it as root"
}

# build_lab: sets DUETIME to the command with the testbed, which it builds unless DUETIME is set.
build_lab() {
    [ -n "${DUETIME:-}" ] || cargo build --release --locked --quiet -p duetime-cli --features lab
    DUETIME=${DUETIME:-$(target_dir)/release/duetime}
}

# Keyring of Debian's package signatures, also used on Ubuntu.
# shellcheck disable=SC2034
DEBIAN_KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
