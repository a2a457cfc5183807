//! The JSON that can be kept and given back unchanged.
//!
//! MongoDB holds every JSON value except three: a key with a NUL, an integer beyond 64 bits, and
//! nesting past its limit. Those are refused by name rather than bent; everything else, keys like
//! `a.b`, `$set`, `$oid` or the empty key included, comes back as it was.

mod digest;
mod limits;
mod measure;
mod object;
mod parse;

pub use digest::{Digest, Hasher, hex};
pub use limits::Limits;
pub use measure::{measure, measure_object};
pub use object::JsonObject;
pub use parse::{ParseError, parse};
