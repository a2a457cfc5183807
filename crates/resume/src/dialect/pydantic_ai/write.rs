use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::own::OwnFields;
use super::{request, response};
use crate::Options;
use crate::canonical::{CanonicalMessage, Role};
use crate::dialect::parsed::add_missing;
use crate::dialect::pipeline::MessageWriter;
use crate::rendered::Rendered;

/// Writes messages; delays the last request, because further parts may join it.
#[derive(Debug)]
pub(super) struct MessagesWriter {
    default_user_name: String,
    request: Option<OpenRequest>,
    /// The name of the function of each call that still gets a result.
    functions: HashMap<String, String>,
}

/// What is sent to the model before it answers again.
#[derive(Debug)]
struct OpenRequest {
    parts: Vec<Value>,
    /// The stored fields of the request.
    fields: Map<String, Value>,
}

impl MessagesWriter {
    pub(super) fn new(options: &Options) -> Self {
        let default_user_name = options.default_user_name.clone();
        Self { default_user_name, request: None, functions: HashMap::new() }
    }

    /// Adds a part to the open request, or opens the request that it begins; without a part, one that has none so far.
    fn add_part(&mut self, part: Option<Value>, own: OwnFields, rendered: &mut Rendered) {
        if own.message.is_some() {
            self.end_request(rendered);
        }
        let fields = own.message.unwrap_or_default();
        let open = self.request.get_or_insert_with(|| OpenRequest { parts: Vec::new(), fields });
        open.parts.extend(part);
    }

    fn end_request(&mut self, rendered: &mut Rendered) {
        if let Some(OpenRequest { parts, fields }) = self.request.take() {
            rendered.messages.push(write_message("request", parts, fields));
        }
    }
}

impl MessageWriter for MessagesWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        let mut own = OwnFields::take(&mut message);
        if message.role == Role::Assistant {
            self.end_request(rendered);
            let called = message.calls.iter();
            self.functions =
                called.map(|call| (call.id.clone(), call.target.name.clone())).collect();
            let parts = response::write_parts(&mut message, &own.parts, &self.default_user_name);
            let fields = own.message.take().unwrap_or_default();
            rendered.messages.push(write_message("response", parts, fields));
        } else if own.is_empty && message.role == Role::User && message.content.is_null() {
            self.add_part(None, own, rendered);
        } else {
            let function = self.functions.remove(&message.call_id);
            let part = request::write_part(
                &mut message,
                &own,
                function.as_deref(),
                &self.default_user_name,
            );
            self.add_part(Some(part), own, rendered);
        }
        message.report_repairs(rendered);
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        self.end_request(rendered);
    }
}

fn write_message(kind: &str, parts: Vec<Value>, fields: Map<String, Value>) -> Value {
    let mut message = json!({"kind": kind});
    message["parts"] = parts.into();
    add_missing(&mut message, fields);
    message
}
