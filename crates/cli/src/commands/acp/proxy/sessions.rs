use std::collections::HashMap;

use records::ChatId;

/// The sessions that both sides know: each is a chat for the client, and has an id of its own for the agent.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    of_client: HashMap<String, String>,
    of_agent: HashMap<String, ChatId>,
}

impl Sessions {
    /// A chat goes on in a session of the agent.
    pub(super) fn open(&mut self, chat_id: &ChatId, agent_session: &str) {
        self.of_client.insert(chat_id.to_string(), agent_session.to_owned());
        self.of_agent.insert(agent_session.to_owned(), chat_id.clone());
    }

    /// Returns the session of the agent; the id of the client itself if the session is not known.
    pub(super) fn for_agent<'s>(&'s self, of_client: &'s str) -> &'s str {
        self.of_client.get(of_client).map_or(of_client, String::as_str)
    }

    /// Returns the chat of a session of the agent.
    pub(super) fn chat(&self, of_agent: &str) -> Option<&ChatId> {
        self.of_agent.get(of_agent)
    }

    pub(super) fn has(&self, of_client: &str) -> bool {
        self.of_client.contains_key(of_client)
    }
}
