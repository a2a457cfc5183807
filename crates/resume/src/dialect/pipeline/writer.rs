use std::fmt;

use crate::canonical::CanonicalMessage;
use crate::rendered::Rendered;

/// Writes messages in the format of one dialect.
///
/// The writer gets every message in order. Directly after a message with calls it gets exactly one
/// result for each of these calls, and it gets no other results. So a writer never checks pairs.
/// Only where own fields [may interrupt](super::rules::OwnFields::may_interrupt), a message that says nothing may come between.
pub(in crate::dialect) trait MessageWriter: fmt::Debug + Send {
    /// Adds the next message to the rendering.
    fn write(&mut self, message: CanonicalMessage, rendered: &mut Rendered);

    /// Adds what is known only at the end of the conversation.
    fn finish(&mut self, _rendered: &mut Rendered) {}
}
