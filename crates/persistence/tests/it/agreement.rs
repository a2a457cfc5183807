//! The memory store and the MongoDB store return the same answers to the same operations in the
//! same order.
//!
//! The test compares the debug text of the answers, including all fields of errors. Time and ids
//! come from a [`Lockstep`], so that both stores use the same times and ids.

mod apps;
mod forks;
mod input_requests;
mod leases;
mod lockstep;
mod operation;
mod strategy;
mod tool_runs;
mod turns;
mod wallets;

use std::sync::{Arc, LazyLock};

use persistence::Store;
use persistence::memory::MemoryStore;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use store_contract::arbitrary::json_value;
use store_contract::json::round_trips;
use tokio::runtime::Runtime;

use crate::mongo::database::Database;

use lockstep::Lockstep;
use operation::{Operation, Playground};
use strategy::operations;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn memory_and_mongo_return_the_same_answers(operations in operations()) {
        run(async {
            let lockstep = Lockstep::start();
            let memory = Arc::new(MemoryStore::new(lockstep.clone(), lockstep.ids()));
            let mongo = Database::create_from(lockstep.clone(), lockstep.ids(), |_| {}).await;
            agree(&lockstep, [memory, mongo.as_dyn()], operations).await
        })?;
    }

    #[test]
    fn memory_returns_random_json_unchanged(value in json_value()) {
        run(round_trips(Arc::new(MemoryStore::default()), value));
    }

    #[test]
    fn mongo_returns_random_json_unchanged(value in json_value()) {
        run(async {
            let mongo = Database::create().await;
            round_trips(mongo.as_dyn(), value).await;
        });
    }
}

/// Makes the operations on both stores, step by step, and compares every answer, and finally the
/// content of both stores.
async fn agree(
    lockstep: &Lockstep,
    [one, other]: [Arc<dyn Store>; 2],
    operations: Vec<Operation>,
) -> TestCaseResult {
    let playground = Playground::new();
    for operation in operations {
        lockstep.advance();
        let answer = operation.execute(&playground, &*one).await;
        let other_answer = comparable(&operation.execute(&playground, &*other).await);
        prop_assert_eq!(&answer, &other_answer, "{:?}", operation);
    }
    for operation in playground.read_everything() {
        let answer = operation.execute(&playground, &*one).await;
        let other_answer = comparable(&operation.execute(&playground, &*other).await);
        prop_assert_eq!(answer, other_answer, "in the end, {:?}", operation);
    }
    Ok(())
}

/// Returns an answer as the memory store gives it. In that store forks share no messages, so none keeps a deleted text.
fn comparable(answer: &str) -> String {
    answer.replace("is_text_kept: true", "is_text_kept: false")
}

/// Runs a case to its end.
fn run<T>(case: impl Future<Output = T>) -> T {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
    RUNTIME.block_on(case)
}

/// Runs 40 cases, because one case is dozens of database calls, or the number in `PROPTEST_CASES`.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_some() {
        return default;
    }
    ProptestConfig { cases: 40, ..default }
}
