//! Counts the connection events of the driver.
//!
//! Command events are not used, because the driver would copy every command and reply for them.

use std::sync::Arc;

use mongodb::event::EventHandler;
use mongodb::event::cmap::CmapEvent;

use crate::metrics::{PoolMetrics, StoreMetrics};

/// Returns the handler for the driver.
pub(crate) fn handler(metrics: &Arc<StoreMetrics>) -> EventHandler<CmapEvent> {
    let metrics = Arc::clone(metrics);
    EventHandler::callback(move |event| count(&metrics.pool, &event))
}

fn count(pool: &PoolMetrics, event: &CmapEvent) {
    match event {
        CmapEvent::ConnectionCreated(_) => {
            pool.created.increment();
            pool.open.add(1);
        }
        CmapEvent::ConnectionClosed(_) => {
            pool.closed.increment();
            pool.open.add(-1);
        }
        CmapEvent::ConnectionCheckedOut(checked_out) => {
            pool.in_use.add(1);
            pool.waits.observe_duration(checked_out.duration);
        }
        CmapEvent::ConnectionCheckedIn(_) => pool.in_use.add(-1),
        CmapEvent::ConnectionCheckoutFailed(_) => pool.checkout_failures.increment(),
        CmapEvent::PoolCleared(_) => pool.clears.increment(),
        _ => {}
    }
}
