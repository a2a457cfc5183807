use std::fmt;

use crate::canonical::Canonical;
use crate::rendered::Rendered;

/// Writes the messages of a dialect.
///
/// Every message comes in order, and the results of its calls right behind it, all of them and no
/// others.
pub(in crate::dialect) trait Writer: fmt::Debug + Send {
    /// Adds the next message to the rendering.
    fn write(&mut self, message: Canonical, rendered: &mut Rendered);

    /// Adds what can only be said in the end.
    fn finish(&mut self, _rendered: &mut Rendered) {}
}
