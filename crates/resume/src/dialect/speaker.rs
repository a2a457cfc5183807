use crate::Repair;
use crate::canonical::{Canonical, Part, Role};

/// Puts the speaker in front of what is said, for forms that have no names.
///
/// The names that only repeat the role are left out: `user`'s for one.
pub(super) fn fold(message: &mut Canonical, parts: &mut [Part], user: &str) {
    let Some(name) = message.name.take() else {
        return;
    };
    if name == message.role.as_str() || (message.role == Role::User && name == user) {
        return;
    }
    let said = parts.iter_mut().find_map(|part| match part {
        Part::Text(said) => Some(said),
        Part::Media(_) => None,
    });
    let repair = match said {
        Some(said) => {
            said.insert_str(0, &format!("{name}: "));
            Repair::SpeakerFolded
        }
        None => Repair::FieldRemoved { field: "name" },
    };
    message.repairs.push(repair);
}
