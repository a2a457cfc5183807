use super::speaker;
use crate::Repair;
use crate::canonical::CanonicalMessage;
use crate::rendered::Rendered;

/// Adds the texts of a system instruction to [`Rendered::system`], apart from the messages.
///
/// `has_begun` says whether a message was rendered before: then the instruction loses its position
/// among the messages, which is reported.
pub(super) fn write_apart(
    message: &mut CanonicalMessage,
    has_begun: bool,
    rendered: &mut Rendered,
) {
    let mut parts = message.take_parts();
    speaker::prefix_with_name(message, &mut parts, "");
    if has_begun {
        message.repairs.push(Repair::InstructionHoisted);
    }
    for part in parts {
        rendered.system.push(message.part_text(part).into());
    }
    message.report_repairs(rendered);
}
