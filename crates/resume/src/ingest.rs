//! What a message needs on its way into the log.

use records::MessageBody;

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
