//! The MongoDB store keeps the contract, with bounds that make it seal early and often.
//!
//! Meanwhile no query scans a collection, and all documents have the fields of golden ones. So neither needs a
//! test of its own for each record.

use std::sync::Arc;

use persistence::Store;
use tokio::runtime::Handle;
use tokio::task::block_in_place;

use super::database::Database;
use super::goldens::assert_golden;
use super::plans::{record_scans, recorded_scans};

store_contract::contract_tests!(mongo);

async fn mongo() -> (Arc<dyn Store>, Inspected) {
    let database = Database::create().await;
    record_scans(&database).await;
    (database.as_dyn(), Inspected(database))
}

/// The database of a promise. It is inspected once the promise was kept.
struct Inspected(Database);

impl Inspected {
    async fn inspect(&self) {
        let scans = recorded_scans(&self.0).await;
        assert!(scans.is_empty(), "{scans:?}");
        assert_golden(&self.0).await;
    }
}

impl Drop for Inspected {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            block_in_place(|| Handle::current().block_on(self.inspect()));
        }
    }
}
