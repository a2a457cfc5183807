//! The wrappers keep the contract of the store within.

use std::future::{Ready, ready};
use std::sync::Arc;
use std::time::Duration;

use persistence::Store;
use persistence::memory::MemoryStore;
use persistence::wrappers::Traced;

persistence::contract_tests!(traced);

fn traced() -> Ready<(Arc<dyn Store>, ())> {
    ready((Arc::new(Traced::new(MemoryStore::default(), Duration::ZERO)), ()))
}
