//! Access to the server for all records: connections, retries, transactions, errors, indexes, the
//! change stream, the format of the database, and caller JSON inside BSON.

pub(crate) mod calls;
pub(crate) mod change_stream;
pub(crate) mod client;
pub(crate) mod deserializer;
pub(crate) mod driver_error;
pub(crate) mod failure;
pub(crate) mod format;
pub(crate) mod hinted;
pub(crate) mod index;
pub(crate) mod indexes;
pub(crate) mod inserts;
pub(crate) mod json;
pub(crate) mod marks;
pub(crate) mod observation;
pub(crate) mod one_of;
pub(crate) mod paging;
pub(crate) mod pool_events;
pub(crate) mod read_at;
pub(crate) mod scope;
pub(crate) mod snapshot;
pub(crate) mod sweep;
pub(crate) mod transaction;
pub(crate) mod update_each;
