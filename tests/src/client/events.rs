use reqwest::Response;
use serde::Deserialize;
use serde_json::Value;

use super::refusal::CallError;

/// The event stream of a chat.
#[derive(Debug)]
pub struct Events {
    response: Response,
    text: String,
    /// The first bytes of an incomplete character.
    torn: Vec<u8>,
}

/// A server-sent event.
#[derive(Debug)]
pub struct Event {
    /// The name of the event.
    pub name: String,
    /// The id with which to reconnect.
    pub id: Option<String>,
    /// Its data.
    pub data: Value,
}

#[derive(Deserialize)]
struct Sequenced {
    sequence: u64,
}

impl Events {
    pub(super) fn new(response: Response) -> Self {
        Self { response, text: String::new(), torn: Vec::new() }
    }

    /// Waits for the next event; `None` when the service ends the stream.
    pub async fn next(&mut self) -> Result<Option<Event>, CallError> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let event = Event::read(block)?;
                self.text = String::from(rest);
                match event {
                    Some(event) => return Ok(Some(event)),
                    None => continue,
                }
            }
            let Some(chunk) = self.response.chunk().await? else { return Ok(None) };
            self.torn.extend_from_slice(&chunk);
            let whole = match str::from_utf8(&self.torn) {
                Ok(text) => text.len(),
                Err(error) => error.valid_up_to(),
            };
            let torn = self.torn.split_off(whole);
            let text = std::mem::replace(&mut self.torn, torn);
            self.text.push_str(&String::from_utf8_lossy(&text));
        }
    }
}

impl Event {
    /// Reads an event; `None` for a comment or a `retry`.
    fn read(block: &str) -> Result<Option<Self>, CallError> {
        let field = |name: &str| {
            let value = block.lines().find_map(|line| line.strip_prefix(name));
            value.map(|value| value.trim_start().to_owned())
        };
        let (Some(name), Some(data)) = (field("event:"), field("data:")) else { return Ok(None) };
        Ok(Some(Self { name, id: field("id:"), data: serde_json::from_str(&data)? }))
    }

    /// Returns the sequence, if the event is a new message.
    pub fn new_sequence(&self) -> Result<Option<u64>, CallError> {
        if self.name != "message" {
            return Ok(None);
        }
        Ok(Some(Sequenced::deserialize(&self.data)?.sequence))
    }
}
