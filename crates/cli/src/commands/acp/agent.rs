//! An agent that has no model: it replays the conversations that are stored, and stores what it is prompted.

use std::pin::pin;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWrite, BufReader};

use super::chats::Chats;
use super::rpc::{Incoming, PROTOCOL_VERSION, Peer, RpcError};
use crate::signals::told_to_stop;

/// Serves a client until it hangs up, or the process is told to stop.
pub(super) async fn serve(chats: &Chats) -> anyhow::Result<()> {
    let mut lines = BufReader::new(tokio::io::stdin()).split(b'\n');
    let mut client = Peer::new(tokio::io::stdout());
    let mut stop = pin!(told_to_stop());
    loop {
        let line = tokio::select! {
            line = lines.next_segment() => line?,
            () = &mut stop => None,
        };
        let Some(line) = line else { return Ok(()) };
        if line.trim_ascii().is_empty() {
            continue;
        }
        let incoming = match Incoming::parse(&line) {
            Ok(incoming) => incoming,
            Err(error) => {
                client.answer(&Value::Null, Err(error)).await?;
                continue;
            }
        };
        // Notifications, such as a cancellation, change nothing: every prompt has ended already.
        if let (Some(method), Some(id)) = (incoming.method(), incoming.id()) {
            let outcome = answer(chats, &mut client, method, incoming.params()).await;
            client.answer(id, outcome).await?;
        }
    }
}

/// Answers a request.
async fn answer<W: AsyncWrite + Unpin>(
    chats: &Chats,
    client: &mut Peer<W>,
    method: &str,
    params: &Value,
) -> Result<Value, RpcError> {
    let session_id = || {
        let session_id = params["sessionId"].as_str();
        session_id.ok_or_else(|| RpcError::invalid_params("sessionId is required"))
    };
    match method {
        "initialize" => Ok(capabilities()),
        "session/new" => {
            let cwd = params["cwd"].as_str();
            let cwd = cwd.ok_or_else(|| RpcError::invalid_params("cwd is required"))?;
            let chat_id = Chats::new_id()?;
            chats.create(chat_id.clone(), chat_id.as_str(), cwd).await?;
            Ok(json!({"sessionId": chat_id.as_str()}))
        }
        "session/load" => {
            let chat = chats.get(session_id()?).await?;
            chats.recover(&chat.chat_id).await?;
            let replayed = chats.replay(&chat.chat_id, client).await;
            replayed.map_err(|error| RpcError::internal(format!("{error:#}")))?;
            Ok(json!({}))
        }
        "session/resume" => chats.get(session_id()?).await.map(|_| json!({})),
        "session/delete" => {
            let chat = chats.get(session_id()?).await?;
            chats.delete(&chat.chat_id).await?;
            Ok(json!({}))
        }
        "session/list" => chats.list(params["cwd"].as_str()).await,
        "session/prompt" => {
            let chat = chats.get(session_id()?).await?;
            chats.say(&chat, &params["prompt"]).await?;
            Ok(json!({"stopReason": "end_turn"}))
        }
        "authenticate" | "session/close" => Ok(json!({})),
        _ => Err(RpcError::unknown_method(method)),
    }
}

fn capabilities() -> Value {
    json!({
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": {"image": true, "audio": true, "embeddedContext": true},
            "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}},
        },
        "agentInfo": {"name": "reprise", "title": "Reprise", "version": env!("CARGO_PKG_VERSION")},
        "authMethods": [],
    })
}
