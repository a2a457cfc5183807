#!/usr/bin/env bash
# Runs fuzz targets with libFuzzer, guided by coverage: `tests/fuzz/run.sh [TARGET]...`, all of them by default.
#
# MINUTES is how long each target runs (5), JOBS how many run at a time (1). What a target has learned stays in
# target/fuzz-corpus/<target>, and the next run begins with it; FRESH=1 begins with the seeds alone. An input that breaks a promise,
# or takes more than a second, is kept in target/fuzz-findings/<target>: put it into tests/fuzz/regressions/<target> under a name that
# says what it was. A row for docs/FUZZING.md is printed for each target. Needs a C++ compiler, and Linux on x86-64.
set -euo pipefail
cd "$(dirname "$0")/../.."
minutes=${MINUTES:-5} jobs=${JOBS:-1}
target=${CARGO_TARGET_DIR:-target}
triple=x86_64-unknown-linux-gnu
corpora=$target/fuzz-corpus findings=$target/fuzz-findings
# What libFuzzer needs to see which code an input runs; all of it is stable.
instrumented="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"

RUSTFLAGS=$instrumented cargo build --locked --profile fuzz -p fuzz --features libfuzzer --target "$triple"
fuzz=$target/$triple/fuzz/fuzz
names=("$@")
[[ $# -gt 0 ]] || mapfile -t names < <(sed -n 's/.*Target { name: "\([a-z]*\)".*/\1/p' tests/fuzz/src/targets/*.rs)

# run NAME: runs one target, and prints its row.
run() {
    local corpus=$corpora/$1 found=$findings/$1 log=$findings/$1.log status=0
    [[ -z ${FRESH:-} ]] || rm -rf "$corpus"
    mkdir -p "$corpus" "$found"
    [[ ! -d tests/fuzz/regressions/$1 ]] || cp tests/fuzz/regressions/"$1"/* "$corpus"
    "$fuzz" "--target=$1" "--seeds=$corpus" "$corpus" "-max_total_time=$((minutes * 60))" -max_len=65536 -len_control=20 \
        -timeout=10 -report_slow_units=1 -rss_limit_mb=4096 -print_final_stats=1 "-artifact_prefix=$found/" &>"$log" || status=$?
    local runs last result=nothing
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log" | tail -1)
    last=$(grep -E '^#[0-9]+.* cov: ' "$log" | tail -1)
    [[ $status == 0 ]] || result="FAILED: $(grep -oE 'panicked at.*|ERROR: .*' "$log" | head -1)"
    [[ $status != 0 || -z $(ls "$found") ]] || result="slow inputs, or findings of earlier runs, in $found"
    printf '| `%s` | %s | %s | %s | %s | %s |\n' "$1" "$minutes min" "${runs:-?}" "$(sed 's/.* cov: \([0-9]*\).*/\1/' <<<"$last")" \
        "$(sed 's/.* ft: \([0-9]*\).*/\1/' <<<"$last")" "$result"
    [[ $result == nothing ]]
}

echo '| target | time | executions | edges | features | found |'
echo '|---|---|---|---|---|---|'
failed=0 running=()
for name in "${names[@]}"; do
    run "$name" &
    running+=($!)
    while [[ $(jobs -rp | wc -l) -ge $jobs ]]; do sleep 1; done
done
for job in "${running[@]}"; do wait "$job" || failed=1; done
exit "$failed"
