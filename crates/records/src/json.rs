//! JSON that can be stored and returned unchanged.
//!
//! MongoDB stores all JSON except for three cases: a key with a NUL, an integer beyond 64 bits, and too
//! deep nesting. Such values are refused with an error that names them, never changed. All other JSON is
//! returned unchanged, even with keys such as `a.b`, `$set`, `$oid` or the empty key.

mod digest;
mod limits;
mod measure;
mod object;
mod parse;
mod parse_error;
mod scan;

pub use digest::{Digest, Hasher, Salt, hex, salted};
pub use limits::Limits;
pub use measure::{measure, measure_object, measure_within};
pub use object::JsonObject;
pub use parse::parse;
pub use parse_error::ParseError;
pub use scan::{ListLimit, Scanned, max_parsed_bytes, scan};
