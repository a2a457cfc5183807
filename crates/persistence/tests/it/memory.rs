//! The memory store keeps the contract.

use std::future::{Ready, ready};
use std::sync::Arc;

use persistence::Store;
use persistence::memory::MemoryStore;

store_contract::contract_tests!(memory);

fn memory() -> Ready<(Arc<dyn Store>, ())> {
    ready((Arc::new(MemoryStore::default()), ()))
}
