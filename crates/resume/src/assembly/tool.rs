use serde_json::{Map, Value, json};

/// A tool part; its state only goes on.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) call_id: String,
    pub(super) name: String,
    pub(super) is_dynamic: bool,
    state: State,
    /// What has come of the input, as text.
    streamed: String,
    input: Option<Value>,
    approval: Option<Value>,
    /// What else is told of the call, as it stands in the part.
    besides: Map<String, Value>,
}

#[derive(Debug)]
enum State {
    Streaming,
    Available,
    Approval,
    Done(Output),
}

/// How a call ended.
#[derive(Debug)]
pub(super) enum Output {
    /// With a result; a preliminary one gives way to what follows.
    Available { value: Value, is_preliminary: bool },
    /// With an error.
    Failed(Value),
    /// It was not allowed.
    Denied,
}

impl Tool {
    pub(super) fn new(call_id: &str, name: &str, is_dynamic: bool) -> Self {
        let (call_id, name) = (call_id.to_owned(), name.to_owned());
        let (state, streamed) = (State::Streaming, String::new());
        let besides = Map::new();
        Self { call_id, name, is_dynamic, state, streamed, input: None, approval: None, besides }
    }

    /// Notes what a chunk tells besides what it is for.
    pub(super) fn note(&mut self, kind: &str, chunk: &Value) {
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
        for (told, kept) in fields {
            if let Some(value) = chunk.get(told).filter(|value| !value.is_null()) {
                self.besides.insert(kept.to_owned(), value.clone());
            }
        }
    }

    /// Adds to the input; it is shown once it is JSON.
    pub(super) fn extend_input(&mut self, delta: &str) {
        if matches!(self.state, State::Streaming) {
            self.streamed.push_str(delta);
        }
    }

    /// Gives the input whole.
    pub(super) fn give_input(&mut self, input: Value) {
        if matches!(self.state, State::Streaming) {
            self.state = State::Available;
        }
        if matches!(self.state, State::Available) {
            self.input = Some(input);
        }
    }

    /// Asks whether the call is allowed, or answers that.
    pub(super) fn give_approval(&mut self, approval: Value) {
        if !self.is_done() {
            self.state = State::Approval;
            self.approval = Some(approval);
        }
    }

    pub(super) fn approval(&self) -> Option<&Value> {
        self.approval.as_ref()
    }

    /// Ends the call.
    pub(super) fn end(&mut self, output: Output) {
        if !self.is_done() {
            self.state = State::Done(output);
        }
    }

    /// Returns the input: that which was given whole, or else what was streamed, if it is JSON by now.
    fn input(&self) -> Option<Value> {
        let streamed = || records::json::parse(self.streamed.as_bytes()).ok();
        self.input.clone().or_else(streamed)
    }

    fn is_done(&self) -> bool {
        match &self.state {
            State::Done(Output::Available { is_preliminary, .. }) => !is_preliminary,
            State::Done(_) => true,
            _ => false,
        }
    }

    fn state(&self) -> &'static str {
        let approved = || self.approval.as_ref().is_some_and(|it| it.get("approved").is_some());
        match &self.state {
            State::Streaming => "input-streaming",
            State::Available => "input-available",
            State::Approval if approved() => "approval-responded",
            State::Approval => "approval-requested",
            State::Done(Output::Available { .. }) => "output-available",
            State::Done(Output::Failed(_)) => "output-error",
            State::Done(Output::Denied) => "output-denied",
        }
    }
}

impl From<&Tool> for Value {
    fn from(tool: &Tool) -> Self {
        let mut part = Map::new();
        let mut put = |field: &str, value: Value| part.insert(field.to_owned(), value);
        if tool.is_dynamic {
            put("type", "dynamic-tool".into());
            put("toolName", tool.name.as_str().into());
        } else {
            put("type", format!("tool-{}", tool.name).into());
        }
        put("toolCallId", tool.call_id.as_str().into());
        put("state", tool.state().into());
        let is_streaming = matches!(tool.state, State::Streaming);
        match tool.input() {
            Some(input) => _ = put("input", input),
            None if is_streaming => {}
            None => _ = put("input", Value::Null),
        }
        part.extend(tool.besides.clone());
        let mut put = |field: &str, value: Value| part.insert(field.to_owned(), value);
        match &tool.state {
            State::Done(Output::Available { value, is_preliminary }) => {
                put("output", value.clone());
                if *is_preliminary {
                    put("preliminary", true.into());
                }
            }
            State::Done(Output::Failed(text)) => _ = put("errorText", text.clone()),
            State::Done(Output::Denied) => {
                let asked = tool.approval.as_ref().and_then(|it| it.get("id")).cloned();
                put("approval", json!({"id": asked.unwrap_or_default(), "approved": false}));
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
