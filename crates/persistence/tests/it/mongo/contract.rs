//! The MongoDB store keeps the contract, with bounds that make it seal early and often.

use std::sync::Arc;

use persistence::Store;

use super::database::Database;

store_contract::contract_tests!(mongo);

async fn mongo() -> (Arc<dyn Store>, Database) {
    let database = Database::create().await;
    (database.as_dyn(), database)
}
