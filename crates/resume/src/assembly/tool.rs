use serde_json::{Map, Value, json};

/// A tool part of a UI message; its state only advances.
#[derive(Debug)]
pub(super) struct ToolPart {
    pub(super) call_id: String,
    pub(super) name: String,
    pub(super) is_dynamic: bool,
    state: ToolState,
    /// The JSON text of the input received so far.
    streamed_input: String,
    /// Whether the input is any text, and not JSON.
    is_text: bool,
    input: Option<Value>,
    approval: Option<Value>,
    /// The other fields of the part.
    other_fields: Map<String, Value>,
}

#[derive(Debug)]
enum ToolState {
    /// The input is still arriving.
    Streaming,
    /// The input is complete.
    Available,
    /// The user was asked to approve the call, or has answered.
    Approval,
    /// The call has ended.
    Done(ToolOutput),
}

/// How a call ended.
#[derive(Debug)]
pub(super) enum ToolOutput {
    /// With a result; a later result replaces a preliminary one.
    Available { value: Value, is_preliminary: bool },
    /// With an error.
    Failed(Value),
    /// The user denied the call.
    Denied,
}

impl ToolPart {
    pub(super) fn new(call_id: &str, name: &str, is_dynamic: bool) -> Self {
        let (call_id, name) = (call_id.to_owned(), name.to_owned());
        Self {
            call_id,
            name,
            is_dynamic,
            state: ToolState::Streaming,
            streamed_input: String::new(),
            is_text: false,
            input: None,
            approval: None,
            other_fields: Map::new(),
        }
    }

    /// Reads a part of a message that is complete.
    pub(super) fn read(part: &Value) -> Option<Self> {
        let kind = part["type"].as_str()?;
        let is_dynamic = kind == "dynamic-tool";
        let name =
            if is_dynamic { part["toolName"].as_str()? } else { kind.strip_prefix("tool-")? };
        let state = match part["state"].as_str()? {
            "input-streaming" => ToolState::Streaming,
            "input-available" => ToolState::Available,
            "approval-requested" | "approval-responded" => ToolState::Approval,
            "output-error" => ToolState::Done(ToolOutput::Failed(part["errorText"].clone())),
            "output-denied" => ToolState::Done(ToolOutput::Denied),
            _ => {
                let value = part["output"].clone();
                ToolState::Done(ToolOutput::Available { value, is_preliminary: false })
            }
        };
        Some(Self {
            state,
            input: part.get("input").cloned(),
            approval: part.get("approval").cloned(),
            ..Self::new(part["toolCallId"].as_str()?, name, is_dynamic)
        })
    }

    /// Copies the fields of a chunk that every kind of chunk may have.
    pub(super) fn copy_common_fields(&mut self, kind: &str, chunk: &Value) {
        if self.is_done() {
            return;
        }
        let is_end =
            matches!(kind, "tool-output-available" | "tool-output-error" | "tool-input-error");
        let metadata = if is_end { "resultProviderMetadata" } else { "callProviderMetadata" };
        let fields = [
            ("title", "title"),
            ("toolMetadata", "toolMetadata"),
            ("providerExecuted", "providerExecuted"),
            ("providerMetadata", metadata),
        ];
        for (chunk_field, part_field) in fields {
            if let Some(value) = chunk.get(chunk_field).filter(|value| !value.is_null()) {
                self.other_fields.insert(part_field.to_owned(), value.clone());
            }
        }
    }

    /// Sets how the input is written while it arrives.
    pub(super) fn set_encoding(&mut self, encoding: &Value) {
        self.is_text = encoding == "text";
    }

    /// Appends to the input, which the part shows once it is valid JSON.
    pub(super) fn append_input(&mut self, delta: &str) {
        if matches!(self.state, ToolState::Streaming) {
            self.streamed_input.push_str(delta);
        }
    }

    /// Sets the complete input.
    pub(super) fn set_input(&mut self, input: Value) {
        if matches!(self.state, ToolState::Streaming) {
            self.state = ToolState::Available;
        }
        if matches!(self.state, ToolState::Available) {
            self.input = Some(input);
        }
    }

    /// Sets the request for approval, or the answer to it.
    pub(super) fn set_approval(&mut self, approval: Value) {
        if !self.is_done() {
            self.state = ToolState::Approval;
            self.approval = Some(approval);
        }
    }

    pub(super) fn approval(&self) -> Option<&Value> {
        self.approval.as_ref()
    }

    /// Ends the call.
    pub(super) fn end(&mut self, output: ToolOutput) {
        if self.is_done() {
            return;
        }
        // The answer may have gone to the agent alone. A part with an output is valid only with one.
        if let Some(Value::Object(approval)) = &mut self.approval {
            let was_denied = matches!(output, ToolOutput::Denied);
            approval.entry("approved").or_insert((!was_denied).into());
        }
        self.state = ToolState::Done(output);
    }

    /// Returns the complete input, or else the streamed input if it is valid JSON already.
    fn input(&self) -> Option<Value> {
        let streamed = || {
            if self.is_text {
                return Some(self.streamed_input.as_str().into());
            }
            records::json::parse(self.streamed_input.as_bytes()).ok()
        };
        self.input.clone().or_else(streamed)
    }

    /// Returns whether there is an output, perhaps a preliminary one.
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.state, ToolState::Done(_))
    }

    fn is_done(&self) -> bool {
        match &self.state {
            ToolState::Done(ToolOutput::Available { is_preliminary, .. }) => !is_preliminary,
            ToolState::Done(_) => true,
            _ => false,
        }
    }

    /// Returns the name of the state in the part.
    fn state_name(&self) -> &'static str {
        let approved = || self.approval.as_ref().is_some_and(|it| it.get("approved").is_some());
        match &self.state {
            ToolState::Streaming => "input-streaming",
            ToolState::Available => "input-available",
            ToolState::Approval if approved() => "approval-responded",
            ToolState::Approval => "approval-requested",
            ToolState::Done(ToolOutput::Available { .. }) => "output-available",
            ToolState::Done(ToolOutput::Failed(_)) => "output-error",
            ToolState::Done(ToolOutput::Denied) => "output-denied",
        }
    }
}

impl From<&ToolPart> for Value {
    fn from(tool: &ToolPart) -> Self {
        let mut part = Map::new();
        let mut put = |field: &str, value: Value| part.insert(field.to_owned(), value);
        if tool.is_dynamic {
            put("type", "dynamic-tool".into());
            put("toolName", tool.name.as_str().into());
        } else {
            put("type", format!("tool-{}", tool.name).into());
        }
        put("toolCallId", tool.call_id.as_str().into());
        put("state", tool.state_name().into());
        let is_streaming = matches!(tool.state, ToolState::Streaming);
        match tool.input() {
            Some(input) => _ = put("input", input),
            None if is_streaming => {}
            None => _ = put("input", Value::Null),
        }
        if is_streaming && !tool.streamed_input.is_empty() {
            put("rawInput", tool.streamed_input.as_str().into());
        }
        if is_streaming && tool.is_text {
            put("inputEncoding", "text".into());
        }
        part.extend(tool.other_fields.clone());
        let mut put = |field: &str, value: Value| part.insert(field.to_owned(), value);
        match &tool.state {
            ToolState::Done(ToolOutput::Available { value, is_preliminary }) => {
                put("output", value.clone());
                if *is_preliminary {
                    put("preliminary", true.into());
                }
            }
            ToolState::Done(ToolOutput::Failed(text)) => _ = put("errorText", text.clone()),
            ToolState::Done(ToolOutput::Denied) => {
                let mut approval = tool.approval.clone().unwrap_or_else(|| json!({"id": ""}));
                approval["approved"] = false.into();
                put("approval", approval);
                return part.into();
            }
            _ => {}
        }
        if let Some(approval) = &tool.approval {
            put("approval", approval.clone());
        }
        part.into()
    }
}
