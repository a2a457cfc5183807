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
    let Some(name) = take_name(message, default_user_name) else {
        return;
    };
    let first_text = parts.iter_mut().find_map(|part| match part {
        ContentPart::Text(text) => Some(text),
        ContentPart::Media(_) => None,
    });
    let repair = match first_text {
        Some(text) => {
            text.insert_str(0, &format!("{name}: "));
            Repair::SpeakerFolded
        }
        None => Repair::FieldRemoved { field: "name" },
    };
    message.repairs.push(repair);
}

/// Takes the name of the speaker, unless it only repeats the role or is the default user name.
pub(super) fn take_name(message: &mut CanonicalMessage, default_user_name: &str) -> Option<String> {
    let name = message.name.take()?;
    let is_default_user = message.role == Role::User && name == default_user_name;
    (name != message.role.as_str() && !is_default_user).then_some(name)
}
