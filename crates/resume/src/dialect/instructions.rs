use serde_json::Value;

use super::speaker;
use crate::Repair;
use crate::canonical::{Canonical, Part};
use crate::rendered::Rendered;

/// Adds the texts of an instruction to those that stand apart from the messages.
pub(super) fn write(message: &mut Canonical, has_begun: bool, rendered: &mut Rendered) {
    let mut parts = message.take_parts();
    speaker::fold(message, &mut parts, "");
    if has_begun {
        message.repairs.push(Repair::InstructionHoisted);
    }
    for part in parts {
        let text = match part {
            Part::Text(text) => text,
            Part::Media(media) => {
                message.repairs.push(Repair::PartSerialised);
                Value::from(media).to_string()
            }
        };
        rendered.system.push(text.into());
    }
    message.report(rendered);
}
