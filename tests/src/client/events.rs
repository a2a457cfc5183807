use reqwest::Response;
use serde::Deserialize;
use serde_json::Value;

use super::refusal::CallError;

/// The events of a chat, as they come.
#[derive(Debug)]
pub struct Events {
    response: Response,
    text: String,
    /// The beginning of a character whose end has not come.
    torn: Vec<u8>,
}

/// A server-sent event.
#[derive(Debug)]
pub struct Event {
    /// What kind of event it is.
    pub name: String,
    /// What to come back with.
    pub id: Option<String>,
    /// What it says.
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
    /// Reads an event; `None` where it is a comment or a hint.
    fn read(block: &str) -> Result<Option<Self>, CallError> {
        let field = |name: &str| {
            let value = block.lines().find_map(|line| line.strip_prefix(name));
            value.map(|value| value.trim_start().to_owned())
        };
        let (Some(name), Some(data)) = (field("event:"), field("data:")) else { return Ok(None) };
        Ok(Some(Self { name, id: field("id:"), data: serde_json::from_str(&data)? }))
    }

    /// Returns the sequence, if this is a message that was not there before.
    pub fn new_sequence(&self) -> Result<Option<u64>, CallError> {
        if self.name != "message" {
            return Ok(None);
        }
        Ok(Some(Sequenced::deserialize(&self.data)?.sequence))
    }
}
