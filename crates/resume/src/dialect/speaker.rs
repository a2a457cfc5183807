use crate::Repair;
use crate::canonical::{CanonicalMessage, ContentPart, Role};

/// Puts the name of the speaker in front of the text, for dialects without names.
///
/// A name that only repeats the role is removed without a report; for the role `user`, so is
/// `default_user_name`.
pub(super) fn prefix_with_name(
    message: &mut CanonicalMessage,
    parts: &mut [ContentPart],
    default_user_name: &str,
) {
    let first_text = parts.iter_mut().find_map(|part| match part {
        ContentPart::Text(text) => Some(text),
        ContentPart::Media(_) => None,
    });
    prefix_text_with_name(message, first_text, default_user_name);
}

/// The same for a content of which only the first text is known.
pub(super) fn prefix_text_with_name(
    message: &mut CanonicalMessage,
    first_text: Option<&mut String>,
    default_user_name: &str,
) {
    let Some(name) = message.name.take() else {
        return;
    };
    let is_default_user = message.role == Role::User && name == default_user_name;
    if name == message.role.as_str() || is_default_user {
        return;
    }
    let repair = match first_text {
        Some(text) => {
            text.insert_str(0, &format!("{name}: "));
            Repair::SpeakerFolded
        }
        None => Repair::FieldRemoved { field: "name" },
    };
    message.repairs.push(repair);
}
