# The common loop: what .ci/run checks, without what takes minutes.
check:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets -- -D warnings
    cargo test --workspace
    .ci/invariants

# Everything .ci/run does.
ci:
    .ci/run

# Accept changed snapshots after reading them.
snapshots:
    INSTA_UPDATE=always cargo test --workspace

# The API's own documentation, and the crates'.
doc:
    cargo doc --workspace --no-deps --open
