use std::borrow::Cow;
use std::fmt;

use crate::json::{Digest, Hasher, Salt, hex};
use crate::{EventId, UserId};

/// Random bytes of a chat that go into the ids which are derived from texts, so that no caller can guess a text from its id.
///
/// They never leave the store and the process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct IdSalt(pub Salt);

impl fmt::Debug for IdSalt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdSalt(..)")
    }
}

/// For whom ids are derived: in which chat, and for which person.
///
/// Ids of one person are never those of another one or of a program. So a repeat tells no caller what another one has said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IdSpace {
    /// The salt of the chat; an earlier release has created a chat without one, and its ids are those of that release.
    pub salt: Option<IdSalt>,
    /// The person, unless a program derives them.
    pub person: Option<UserId>,
}

/// The id of a message that has none, before it is known in which chat it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DerivedId {
    /// What it begins with.
    pub prefix: Cow<'static, str>,
    /// What it is derived from.
    pub digest: Digest,
}

impl DerivedId {
    /// Returns the id of the message for someone in a chat.
    #[must_use]
    pub fn in_space(&self, space: &IdSpace) -> EventId {
        let digest = match &space.salt {
            None => self.digest,
            Some(IdSalt(salt)) => {
                let mut hasher = Hasher::default();
                hasher.digest("salt", salt);
                if let Some(person) = &space.person {
                    hasher.field("person", &person.as_str().into());
                }
                hasher.digest("derived", &self.digest);
                hasher.finish()
            }
        };
        EventId::of_valid(format!("{}{}", self.prefix, hex(&digest)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn derived() -> DerivedId {
        DerivedId { prefix: "evt_".into(), digest: [7; 16] }
    }

    #[test]
    fn an_id_is_that_of_one_chat_and_one_caller() {
        let derived = derived();
        let person = |name| UserId::parse(name).ok();
        let spaces = [
            IdSpace::default(),
            IdSpace { salt: Some(IdSalt([1; 16])), person: None },
            IdSpace { salt: Some(IdSalt([2; 16])), person: None },
            IdSpace { salt: Some(IdSalt([1; 16])), person: person("alice") },
            IdSpace { salt: Some(IdSalt([1; 16])), person: person("bob") },
        ];
        let mut ids: Vec<_> = spaces.iter().map(|space| derived.in_space(space)).collect();
        assert_eq!(ids[0].as_str(), format!("evt_{}", "07".repeat(16)));
        assert_eq!(ids[3], derived.in_space(&spaces[3]));
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), spaces.len());
    }

    #[test]
    fn a_chat_without_a_salt_keeps_the_ids_of_earlier_releases() {
        let space = IdSpace { salt: None, person: UserId::parse("alice").ok() };
        assert_eq!(derived().in_space(&space), derived().in_space(&IdSpace::default()));
    }

    #[test]
    fn a_salt_is_not_written_to_logs() {
        assert_eq!(format!("{:?}", IdSalt([9; 16])), "IdSalt(..)");
    }
}
