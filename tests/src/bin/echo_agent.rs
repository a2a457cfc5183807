//! An agent of the Agent Client Protocol that says what it hears, for tests.

use std::io::{self, BufRead as _, Write as _};

use anyhow::Result;
use clap::Parser;
use serde_json::{Value, json};

/// Answer each prompt with its text, a call and a further text.
///
/// The prompt `wait` is answered once it is cancelled, `fail` with an error, `silence` with nothing, `odd` with lines that cannot
/// be stored, `rough` with what can be stored in part, `huge` with more than a message may hold, `open` with a call that never
/// ends, `late` with a text after the answer, and at `leave` the agent exits.
#[derive(Debug, Parser)]
struct Arguments {
    /// Can load sessions, and replays one message then.
    #[arg(long)]
    loads: bool,
    /// Can resume, fork and delete sessions.
    #[arg(long)]
    manages: bool,
    /// Number the sessions of each process from 1.
    #[arg(long)]
    forgets: bool,
    /// The beginning of the ids of sessions.
    #[arg(long, default_value = "session_")]
    prefix: String,
}

/// The agent, and what it remembers.
struct Agent {
    arguments: Arguments,
    sessions: u64,
    /// The prompt that waits to be cancelled.
    waiting: Option<Value>,
}

fn main() -> Result<()> {
    let mut agent = Agent { arguments: Arguments::parse(), sessions: 0, waiting: None };
    for line in io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        if message["method"] == "session/prompt"
            && message["params"]["prompt"][0]["text"] == "leave"
        {
            return Ok(());
        }
        agent.take(&message)?;
    }
    Ok(())
}

impl Agent {
    fn take(&mut self, message: &Value) -> Result<()> {
        let (id, params) = (&message["id"], &message["params"]);
        let result = match message["method"].as_str().unwrap_or_default() {
            "initialize" => json!({
                "protocolVersion": 1,
                "agentCapabilities": {
                    "loadSession": self.arguments.loads,
                    "sessionCapabilities": if self.arguments.manages {
                        json!({"resume": {}, "fork": {}, "delete": {}})
                    } else {
                        json!({})
                    },
                },
                "agentInfo": {"name": "echo", "version": "1"},
                // Secrets in the settings are not for agents.
                "_meta": {"settings": std::env::vars().filter(|(name, _)| name.starts_with("REPRISE__")).count()},
            }),
            "session/new" => {
                self.sessions += 1;
                let number = if self.arguments.forgets { 0 } else { std::process::id() };
                let session = format!("{}{number}_{}", self.arguments.prefix, self.sessions);
                json!({"sessionId": session, "_meta": {"cwd": params["cwd"]}})
            }
            "session/load" => {
                let session = &params["sessionId"];
                if !session.as_str().is_some_and(|it| it.starts_with(&self.arguments.prefix)) {
                    return fail(id, "no such session");
                }
                update(session, &said("what the agent remembers"))?;
                let commands =
                    json!({"sessionUpdate": "available_commands_update", "availableCommands": []});
                update(session, &commands)?;
                json!({"_meta": {"loaded": session}})
            }
            "session/resume" | "session/delete" if self.arguments.manages => {
                json!({"_meta": {"of": params["sessionId"]}})
            }
            "session/fork" if self.arguments.manages => {
                let source = params["sessionId"].as_str().unwrap_or_default();
                json!({"sessionId": format!("{source} fork")})
            }
            "session/cancel" => match self.waiting.take() {
                Some(waiting) => return answer(&waiting, &json!({"stopReason": "cancelled"})),
                None => return Ok(()),
            },
            "session/prompt" => match self.prompt(id, params)? {
                Some(result) => result,
                None => return Ok(()),
            },
            method => return fail(id, &format!("no method {method}")),
        };
        answer(id, &result)
    }

    fn prompt(&mut self, id: &Value, params: &Value) -> Result<Option<Value>> {
        let session = &params["sessionId"];
        let text = params["prompt"][0]["text"].as_str().unwrap_or_default();
        match text {
            "silence" => return Ok(Some(json!({"stopReason": "end_turn"}))),
            "odd" => {
                // A field that is there twice, and then a line that is no message.
                let line = r#"{"jsonrpc":"2.0","method":"session/update","params":{"n":1,"n":2}}"#;
                writeln!(io::stdout(), "{line}\nodd")?;
                return Ok(Some(json!({"stopReason": "end_turn"})));
            }
            "rough" => {
                let update = |update: &str| {
                    format!(
                        r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":{session},"update":{update}}}}}"#
                    )
                };
                let half = r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"half \ud83e"}}"#;
                let call = r#"{"sessionUpdate":"tool_call","toolCallId":"c","title":"f","rawInput":{"n":18446744073709551615}}"#;
                let ended = r#"{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed","rawOutput":1e-400}"#;
                let result = r#"{"stopReason":"end_turn","_meta":{"n":18446744073709551615}}"#;
                for line in [half, call, ended].map(update) {
                    writeln!(io::stdout(), "{line}")?;
                }
                writeln!(io::stdout(), r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)?;
                return Ok(None);
            }
            "huge" => {
                update(session, &said(&"x".repeat(5 << 20)))?;
                return Ok(Some(json!({"stopReason": "end_turn"})));
            }
            "open" => {
                let call = json!({"sessionUpdate": "tool_call", "toolCallId": "o", "title": "f", "status": "pending"});
                update(session, &call)?;
                return Ok(Some(json!({"stopReason": "end_turn"})));
            }
            "late" => {
                update(session, &said("In time."))?;
                answer(id, &json!({"stopReason": "end_turn"}))?;
                update(session, &said("After"))?;
                update(session, &said("wards."))?;
                return Ok(None);
            }
            "fail" => return fail(id, "the model is away").map(|()| None),
            _ => {}
        }
        update(
            session,
            &json!({"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": text}}),
        )?;
        for piece in ["You ", "said: ", text] {
            update(session, &said(piece))?;
        }
        if text == "wait" {
            self.waiting = Some(id.clone());
            return Ok(None);
        }
        let call = format!("call_{id}");
        update(
            session,
            &json!({"sessionUpdate": "tool_call", "toolCallId": call, "title": "count",
            "kind": "other", "status": "pending", "rawInput": {"text": text}}),
        )?;
        let length = text.len().to_string();
        update(
            session,
            &json!({"sessionUpdate": "tool_call_update", "toolCallId": call, "status": "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": length}}], "rawOutput": length}),
        )?;
        update(session, &json!({"sessionUpdate": "usage_update", "used": 1, "size": 2}))?;
        update(session, &said("Done."))?;
        Ok(Some(json!({"stopReason": "end_turn"})))
    }
}

fn said(text: &str) -> Value {
    json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})
}

fn update(session: &Value, update: &Value) -> Result<()> {
    let params = json!({"sessionId": session, "update": update});
    send(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params}))
}

fn answer(id: &Value, result: &Value) -> Result<()> {
    send(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

fn fail(id: &Value, message: &str) -> Result<()> {
    send(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": message}}))
}

fn send(message: &Value) -> Result<()> {
    let mut out = io::stdout();
    writeln!(out, "{message}")?;
    Ok(out.flush()?)
}
