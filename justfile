# Shortcuts for the scripts, which CONTRIBUTING.md lists.

set positional-arguments

_list:
    @just --list --unsorted

# Print the tables of the README, in nine minutes
demo *options:
    script/demo "$@"

# Serve the playground, a page with the simulator
play *options:
    script/demo --play "$@"

# Install the tools of all checks, and the hook that runs `just quick` before each push
setup:
    script/bootstrap --bench --lint --lab --python
    git config core.hooksPath .githooks

# Check format, rejected words, layers of crates and lints, and run the unit tests (four minutes after a build)
quick:
    script/test --quick

# Run everything that must pass before a merge (--only lints|tests|documents|wasm: a part)
test *options:
    script/test "$@"

# Build and test the Python package (--wheel: only build it)
python *options:
    script/python "$@"

# Build and check the site of the documents, with the wheel of `just python`
site *options:
    script/site "$@"

# Test the page `report`, `papers` or `playground` in a browser
browser page *options:
    script/browser "$@"

# Measure `speed`, `scale`, `fairness`, `kernel` or `host-delay`
bench *options:
    script/bench "$@"
