# Databases of tests live in memory where there is room.
export TMPDIR := env("TMPDIR", if path_exists("/dev/shm") == "true" { "/dev/shm" } else { "/tmp" })

# The common loop: the fast checks of .ci/run.
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo test --workspace
    .ci/invariants
    .ci/plain-english

# Everything .ci/run does.
ci:
    .ci/run

# Accept changed snapshots; read them before committing.
snapshots:
    INSTA_UPDATE=always cargo test --workspace

# The documentation of all crates.
doc:
    cargo doc --workspace --no-deps --open
