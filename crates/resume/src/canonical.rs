//! The message that every dialect is rendered from and parsed into.
//!
//! Whatever a stored message keeps of what was said is read once, by [`read()`]: its speaker, its
//! content, the calls it makes or the call it answers.

mod call;

mod media;
pub(crate) use media::{Media, MediaKind, MediaSource};

mod message;
pub(crate) use message::{Canonical, is_blank};

mod part;
pub(crate) use part::{Part, are_parts};

mod read;
pub(crate) use read::{read, taken};

mod reasoning;
pub(crate) use reasoning::Reasoning;

mod role;
pub(crate) use role::Role;
