use records::{
    Author, Caller, ChatId, EventId, Invalid, JsonObject, MessageBody, NewMessage, Segment, UserId,
};
use serde_json::Value;

/// The field of the metadata with the agent that wrote a message.
pub(super) const AGENT: &str = "agent";
/// The field with the person who wrote a message.
pub(super) const USER_ID: &str = "userId";
/// The field with the session, which is not stored: it is known from where the message is.
const SESSION_ID: &str = "sessionId";

/// A message of a session, as clients send it.
#[derive(Debug)]
pub(super) struct SentMessage {
    /// An id by which a repeat is recognised.
    pub(super) event_id: Option<EventId>,
    pub(super) kind: String,
    pub(super) content: Value,
    pub(super) timestamp: Option<String>,
    pub(super) metadata: JsonObject,
}

impl SentMessage {
    /// Reads a message of a session. Fields that the original does not store are ignored.
    pub(super) fn read(item: Value, chat_id: &ChatId) -> Result<Self, Invalid> {
        let Value::Object(mut fields) = item else {
            return Err(Invalid::value("", "must be an object"));
        };
        let mut take = |field: &str| fields.remove(field).filter(|value| !value.is_null());
        let content = take("content").ok_or_else(|| Invalid::value("/content", "is missing"))?;
        // Numbers are positions in a list of the client, and no ids: another page counts from the beginning again.
        let event_id = take("id").filter(Value::is_string).map(|id| text("id", id));
        let mut metadata = match take("metadata") {
            None => JsonObject::new(),
            Some(Value::Object(metadata)) => metadata,
            Some(_) => return Err(Invalid::value("/metadata", "must be an object")),
        };
        metadata.retain(|field, value| field != SESSION_ID || *value != chat_id.as_str());
        let event_id = event_id.transpose()?.map(EventId::parse).transpose();
        Ok(Self {
            event_id: event_id.map_err(|error| Invalid::value("/id", error.to_string()))?,
            kind: take("type").map_or_else(|| Ok("user".to_owned()), |kind| text("type", kind))?,
            content,
            timestamp: take("timestamp").map(|time| text("timestamp", time)).transpose()?,
            metadata,
        })
    }

    /// Converts the message. What a person says is their own.
    pub(super) fn into_new(self, caller: &Caller) -> Result<NewMessage, Invalid> {
        let name = match self.metadata.get(AGENT) {
            Some(Value::String(agent)) if !agent.is_empty() => Some(agent.clone()),
            _ => None,
        };
        let author = match (caller, self.metadata.get(USER_ID)) {
            (Caller::Service, Some(Value::String(user_id))) => {
                let user_id = UserId::parse(user_id.as_str())
                    .map_err(|error| Invalid::value("/metadata/userId", error.to_string()))?;
                Some(Author { user_id, display_name: None })
            }
            _ => None,
        };
        let body = MessageBody {
            role: self.kind,
            name,
            content: self.content,
            timestamp: self.timestamp,
            metadata: (!self.metadata.is_empty()).then_some(self.metadata),
            extra: JsonObject::new(),
        };
        body.check().map_err(named_as_sent)?;
        Ok(NewMessage { event_id: self.event_id, body, author })
    }
}

/// Names a refused field as clients know it.
fn named_as_sent(invalid: Invalid) -> Invalid {
    let location = match invalid.location.to_string().as_str() {
        "/role" => "/type".into(),
        "/name" => "/metadata/agent".into(),
        _ => invalid.location,
    };
    Invalid { location, ..invalid }
}

fn text(field: &'static str, value: Value) -> Result<String, Invalid> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(Invalid::value(Segment::key(field), "must be a text")),
    }
}
