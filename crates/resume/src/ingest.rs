//! What a message needs on its way into the log.

use records::json::{Hasher, hex};
use records::{EventId, MessageBody, NewMessage};
use serde_json::Value;

use crate::dialect::{Dialect, Violation};

/// The roles that say which side spoke; any other text in their place is a speaker.
const ROLES: [&str; 6] = ["user", "assistant", "system", "developer", "tool", "function"];

/// The speakers, in lower case, who are the user.
const USERS: [&str; 4] = ["user", "userproxy", "userproxyagent", "human"];

/// Moves the speaker from the role to the name, for transcripts that keep it in the role.
///
/// A message from "Orchestrator (-> `WebSurfer`)" becomes one in that name with the role
/// `assistant`; the roles `user`, `userproxy`, `userproxyagent` and `human`, in any case, become
/// the role `user`. A name that is given stays, and the role is then only translated. Known roles
/// and the empty role stay as they are.
pub fn speaker_from_role(body: &mut MessageBody) {
    if body.role.is_empty() || ROLES.contains(&body.role.as_str()) {
        return;
    }
    let is_user = USERS.contains(&body.role.to_lowercase().as_str());
    let role = if is_user { "user" } else { "assistant" };
    let speaker = std::mem::replace(&mut body.role, role.to_owned());
    if body.name.as_deref().is_none_or(str::is_empty) {
        body.name = Some(speaker);
    }
}

/// The rules about how a conversation goes on from here; one that is only kept may end anyhow, and its
/// calls may have the ids that another provider gave them.
const GOING_ON: [&str; 4] =
    ["first_not_user", "last_not_user", "missing_signature", "long_call_id"];

/// Returns the ways in which a transcript breaks the rules of its form, by position; of very many only the
/// first ones.
///
/// The rules of who speaks first and last, of the signatures that a provider asks for when it is to go
/// on, and of how long the ids of calls may be are not for a transcript that is kept.
pub fn violations(dialect: &dyn Dialect, messages: &[Value]) -> Vec<Violation> {
    let mut found = dialect.validate(messages);
    found.retain(|violation| !GOING_ON.contains(&violation.rule));
    found
}

/// Gives an id to each message that has none: the same ones for the same messages.
///
/// An id is made of `seed`, of the message and of all before it. So a transcript that is sent again,
/// or sent again with more at its end, has the ids it had.
pub fn identify(seed: &str, messages: &mut [NewMessage]) {
    let mut before = Value::from(seed);
    for message in messages {
        let mut hasher = Hasher::default();
        hasher.field("before", &before);
        hasher.field("message", &hex(&message.body.digest()).into());
        let digest = hex(&hasher.finish());
        if message.event_id.is_none() {
            message.event_id = EventId::parse(format!("evt_{digest}")).ok();
        }
        before = digest.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ingested(role: &str, name: Option<&str>) -> (String, Option<String>) {
        let mut body = MessageBody::new(role, name, "x");
        speaker_from_role(&mut body);
        (body.role, body.name)
    }

    fn pair(role: &str, name: &str) -> (String, Option<String>) {
        (role.to_owned(), Some(name.to_owned()))
    }

    #[test]
    fn a_speaker_in_the_role_becomes_the_name() {
        let thought = "Orchestrator (thought)";
        assert_eq!(ingested(thought, None), pair("assistant", thought));
        assert_eq!(ingested(thought, Some("")), pair("assistant", thought));
        assert_eq!(ingested("UserProxy", None), pair("user", "UserProxy"));
        assert_eq!(ingested("Assistant", None), pair("assistant", "Assistant"));
    }

    fn identified(seed: &str, contents: &[&str]) -> Vec<EventId> {
        let message = |text: &&str| MessageBody::new("user", None, *text).into();
        let mut messages: Vec<NewMessage> = contents.iter().map(message).collect();
        identify(seed, &mut messages);
        messages.into_iter().filter_map(|message| message.event_id).collect()
    }

    #[test]
    fn a_transcript_that_has_grown_keeps_its_ids() {
        let first = identified("", &["yes", "yes"]);
        assert_ne!(first[0], first[1]);
        assert_eq!(identified("", &["yes", "yes", "no"])[..2], first);
        assert_ne!(identified("", &["no", "yes"])[1], first[1]);
        assert_ne!(identified("turn_2", &["yes", "yes"])[0], first[0]);
    }

    #[test]
    fn an_id_that_is_given_stays() {
        let given = EventId::parse("m1").ok();
        let body = MessageBody::new("user", None, "yes");
        let mut messages = [NewMessage { event_id: given.clone(), ..body.into() }];
        identify("", &mut messages);
        assert_eq!(messages[0].event_id, given);
    }

    #[test]
    fn a_given_name_stays() {
        assert_eq!(ingested("human", Some("Zoë")), pair("user", "Zoë"));
        assert_eq!(ingested("ai", Some("user")), pair("assistant", "user"));
    }

    #[test]
    fn known_roles_stay() {
        for role in ROLES {
            assert_eq!(ingested(role, None), (role.to_owned(), None));
        }
        assert_eq!(ingested("", None), (String::new(), None));
    }
}
