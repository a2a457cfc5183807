//! Two stores agree: whatever is done to both, in the same order, both answer alike.
//!
//! Answers are compared as they print, errors with all their fields. Time and ids come from a
//! [`Lockstep`], so that what a store mints or dates is the same for both.

mod lockstep;
mod operation;
mod strategy;

use std::sync::Arc;

use persistence::Store;
use persistence::contract::arbitrary::json_value;
use persistence::contract::json::comes_back;
use persistence::memory::MemoryStore;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

pub(crate) use lockstep::Lockstep;
pub(crate) use operation::{Operation, Playground};
pub(crate) use strategy::operations;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn memory_agrees_with_itself(operations in operations()) {
        let lockstep = Lockstep::start();
        let store = || -> Arc<dyn Store> {
            Arc::new(MemoryStore::new(lockstep.clone(), lockstep.ids()))
        };
        run(agree(&lockstep, [store(), store()], operations))?;
    }

    #[test]
    fn random_json_comes_back_through_every_write_and_read(value in json_value()) {
        run(comes_back(Arc::new(MemoryStore::default()), value));
    }
}

/// Carries out the operations on both stores, step by step, and compares every answer, and in the
/// end all that they hold.
pub(crate) async fn agree(
    lockstep: &Lockstep,
    [one, other]: [Arc<dyn Store>; 2],
    operations: Vec<Operation>,
) -> TestCaseResult {
    let playground = Playground::new();
    for operation in operations {
        lockstep.advance();
        let answer = operation.carry_out(&playground, &*one).await;
        let other_answer = operation.carry_out(&playground, &*other).await;
        prop_assert_eq!(&answer, &other_answer, "{:?}", operation);
    }
    for operation in playground.look_around() {
        let answer = operation.carry_out(&playground, &*one).await;
        let other_answer = operation.carry_out(&playground, &*other).await;
        prop_assert_eq!(answer, other_answer, "in the end, {:?}", operation);
    }
    Ok(())
}

/// Runs a case to its end on a runtime of its own.
pub(crate) fn run<T>(case: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be started");
    runtime.block_on(case)
}

/// Sixty-four cases, since one is dozens of calls on a database, unless `PROPTEST_CASES` says how
/// many.
pub(crate) fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    if std::env::var_os("PROPTEST_CASES").is_some() {
        return default;
    }
    ProptestConfig { cases: 64, ..default }
}
