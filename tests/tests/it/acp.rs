//! `reprise acp`: an agent that replays and stores, alone and before another agent.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use local_mongod::{LocalMongod, Options};
use mongodb::bson::{DateTime, Document, doc};
use persistence::ChatSessions as _;
use persistence::mongo::{MongoOptions, MongoStore};
use records::{AppId, NewChatSession, Scope, WorkflowName};
use rustix::process::Signal;
use serde_json::{Value, json};
use tests::binary;
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tests::signal::send;
use tests::waiting::{MAX_WAIT, until, within};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

const ECHO: &str = env!("CARGO_BIN_EXE_echo_agent");

/// A client of `reprise acp`.
struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Lines<BufReader<ChildStdout>>,
    requests: u64,
    /// The updates since they were last taken.
    updates: Vec<Value>,
}

impl Client {
    async fn start(database: &Database, arguments: &[&str]) -> Result<Self> {
        Self::start_with(&Settings::of(database), arguments).await
    }

    async fn start_with(settings: &Settings, arguments: &[&str]) -> Result<Self> {
        let arguments = [&["acp", "acme_corp"][..], arguments].concat();
        let mut command = binary::command(&arguments).await?;
        settings.apply(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let lines = BufReader::new(child.stdout.take().context("no stdout")?).lines();
        let stdin = child.stdin.take();
        Ok(Self { child, stdin, lines, requests: 0, updates: Vec::new() })
    }

    /// Starts it, and initializes the connection.
    async fn connect(database: &Database, arguments: &[&str]) -> Result<Self> {
        let mut client = Self::start(database, arguments).await?;
        let capabilities = client.call("initialize", json!({"protocolVersion": 1})).await?;
        assert_eq!(capabilities["agentCapabilities"]["loadSession"], true, "{capabilities}");
        Ok(client)
    }

    async fn send(&mut self, line: &str) -> Result<()> {
        let stdin = self.stdin.as_mut().context("the connection is closed")?;
        stdin.write_all(format!("{line}\n").as_bytes()).await?;
        Ok(stdin.flush().await?)
    }

    async fn notify(&mut self, method: &str, params: Value) -> Result<()> {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.send(&message.to_string()).await
    }

    async fn read(&mut self) -> Result<Value> {
        let line = within(MAX_WAIT, "a message", self.lines.next_line())
            .await??
            .context("the agent has ended")?;
        Ok(serde_json::from_str(&line)?)
    }

    /// Sends a request, and returns its id.
    async fn ask(&mut self, method: &str, params: Value) -> Result<Value> {
        self.requests += 1;
        let message =
            json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params});
        self.send(&message.to_string()).await?;
        Ok(self.requests.into())
    }

    /// Returns the response to a request, and keeps the updates before it.
    async fn response(&mut self, id: &Value) -> Result<Value> {
        loop {
            let message = self.read().await?;
            if message["method"] == "session/update" {
                self.updates.push(message["params"].clone());
            } else if message["id"] == *id {
                return Ok(message);
            }
        }
    }

    async fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.ask(method, params).await?;
        let mut response = self.response(&id).await?;
        ensure!(response.get("error").is_none(), "{method}: {response}");
        Ok(response["result"].take())
    }

    async fn refused(&mut self, method: &str, params: Value) -> Result<(i64, String)> {
        let id = self.ask(method, params).await?;
        let error = self.response(&id).await?["error"].clone();
        let message = error["message"].as_str().unwrap_or_default().to_owned();
        Ok((error["code"].as_i64().context("no error")?, message))
    }

    async fn new_session(&mut self) -> Result<String> {
        let new = self.call("session/new", json!({"cwd": "/work", "mcpServers": []})).await?;
        Ok(new["sessionId"].as_str().context("no session")?.to_owned())
    }

    async fn prompt(&mut self, session: &str, text: &str) -> Result<Value> {
        self.call("session/prompt", prompt(session, text)).await
    }

    async fn load(&mut self, session: &str) -> Result<Value> {
        self.updates.clear();
        let params = json!({"sessionId": session, "cwd": "/work", "mcpServers": []});
        self.call("session/load", params).await
    }

    /// Takes what was said in a session: the texts of chunks, and the states of calls.
    fn said(&mut self, session: &str) -> Vec<String> {
        let updates = std::mem::take(&mut self.updates);
        let said = updates.into_iter().map(|params| {
            assert_eq!(params["sessionId"], session);
            let update = &params["update"];
            let kind = update["sessionUpdate"].as_str().unwrap_or_default();
            let shown = update["content"]["text"].as_str().or(update["status"].as_str());
            format!("{kind}: {}", shown.unwrap_or_default())
        });
        said.collect()
    }

    /// Reads until so many updates have come since they were last taken.
    async fn until_updates(&mut self, count: usize) -> Result<()> {
        while self.updates.len() < count {
            let mut message = self.read().await?;
            if message["method"] == "session/update" {
                self.updates.push(message["params"].take());
            }
        }
        Ok(())
    }

    /// Hangs up, and waits until the agent ends.
    async fn hang_up(mut self) -> Result<bool> {
        drop(self.stdin.take());
        Ok(within(MAX_WAIT, "its end", self.child.wait()).await??.success())
    }
}

fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

/// What the echo agent answers, as it is replayed.
fn replayed(text: &str) -> Vec<String> {
    vec![
        format!("user_message_chunk: {text}"),
        format!("agent_message_chunk: You said: {text}"),
        "tool_call: pending".to_owned(),
        "tool_call_update: completed".to_owned(),
        "agent_message_chunk: Done.".to_owned(),
    ]
}

#[tokio::test]
async fn what_is_prompted_is_stored_and_replayed_by_another_process() -> Result<()> {
    let database = Database::create().await?;
    let mut first = Client::connect(&database, &["--user", "alice"]).await?;
    let session = first.new_session().await?;
    let ended = first.prompt(&session, "Hello").await?;
    assert_eq!((&ended["stopReason"], first.updates.len()), (&json!("end_turn"), 0));
    let image = json!({"type": "image", "mimeType": "image/png", "data": "AAAA"});
    let several =
        json!({"sessionId": session, "prompt": [{"type": "text", "text": "See:"}, image]});
    first.call("session/prompt", several).await?;
    first.notify("session/cancel", json!({"sessionId": session})).await?;
    assert!(first.hang_up().await?);

    let mut second = Client::connect(&database, &["--user", "alice"]).await?;
    let listed = second.call("session/list", json!({})).await?["sessions"].clone();
    assert_eq!((&listed[0]["sessionId"], &listed[0]["cwd"]), (&json!(session), &json!("/work")));
    assert_eq!(listed[0]["title"], "Hello");
    let elsewhere = second.call("session/list", json!({"cwd": "/other"})).await?;
    assert_eq!(elsewhere["sessions"], json!([]));
    second.load(&session).await?;
    assert_eq!(second.updates[2]["update"]["content"], image);
    second.updates.truncate(2);
    assert_eq!(second.said(&session), ["user_message_chunk: Hello", "user_message_chunk: See:"]);
    second.call("session/resume", json!({"sessionId": session})).await?;
    assert_eq!(second.updates.len(), 0);
    second.prompt(&session, "Again").await?;
    second.load(&session).await?;
    assert_eq!(second.updates.len(), 4);
    assert!(second.hang_up().await?);
    Ok(())
}

#[tokio::test]
async fn a_request_that_cannot_be_answered_is_refused_and_the_next_one_is_answered() -> Result<()> {
    let database = Database::create().await?;
    let mut client = Client::connect(&database, &[]).await?;
    for line in ["{", "1", "[]"] {
        client.send(line).await?;
        let refused = client.read().await?;
        assert!(refused["id"].is_null() && refused["error"]["code"].is_i64(), "{refused}");
    }
    client.stdin.as_mut().context("the connection is closed")?.write_all(b"\"\xff\"\n").await?;
    assert_eq!(client.read().await?["error"]["code"], -32_700);
    client.send("").await?;
    for (method, params, code, word) in [
        ("other/method", json!({}), -32_601, "other/method"),
        ("session/new", json!({}), -32_602, "cwd"),
        ("session/load", json!({}), -32_602, "sessionId"),
        ("session/load", json!({"sessionId": "never"}), -32_002, "never"),
        ("session/load", json!({"sessionId": "../x"}), -32_002, "../x"),
        ("session/prompt", prompt("never", "x"), -32_002, "never"),
    ] {
        let (refused, message) = client.refused(method, params).await?;
        assert!(refused == code && message.contains(word), "{method}: {refused} {message}");
    }
    let session = client.new_session().await?;
    for blocks in [json!([]), json!([{"type": "riddle"}]), Value::Null] {
        let params = json!({"sessionId": session, "prompt": blocks});
        assert_eq!(client.refused("session/prompt", params).await?.0, -32_602);
    }
    client.load(&session).await?;
    assert_eq!(client.said(&session), [""; 0]);
    assert!(client.hang_up().await?);
    Ok(())
}

#[tokio::test]
async fn what_another_agent_answers_is_passed_on_stored_and_replayed() -> Result<()> {
    let database = Database::create().await?;
    let mut first = Client::start(&database, &["--", ECHO]).await?;
    let shown = first.call("initialize", json!({"protocolVersion": 1})).await?;
    assert_eq!(
        (&shown["agentInfo"]["name"], &shown["_meta"]["settings"]),
        (&json!("echo"), &json!(0))
    );
    assert_eq!(shown["agentCapabilities"]["loadSession"], true);
    let session = first.new_session().await?;
    assert!(session.starts_with("session_"), "{session}");
    let ended = first.prompt(&session, "Hello").await?;
    assert_eq!(ended["stopReason"], "end_turn");
    // The client sees every piece as it comes.
    let live = first.said(&session);
    assert_eq!(live.len(), 8, "{live:?}");
    assert_eq!(
        live[1..4],
        ["agent_message_chunk: You ", "agent_message_chunk: said: ", "agent_message_chunk: Hello"]
    );
    // What the store could not keep is passed on nevertheless.
    first.prompt(&session, "odd").await?;
    assert_eq!(first.updates.drain(..).collect::<Vec<_>>(), [json!({"n": 2})]);
    let other = first.refused("other/method", json!({"sessionId": session})).await?;
    assert_eq!(other, (-32_603, "no method other/method".to_owned()));
    assert!(first.hang_up().await?);

    // The agent cannot load sessions: the conversation comes from the store, and goes on in a session of its own.
    let mut second = Client::connect(&database, &["--", ECHO]).await?;
    second.load(&session).await?;
    let odd = vec!["user_message_chunk: odd".to_owned()];
    assert_eq!(second.said(&session), [replayed("Hello"), odd.clone()].concat());
    second.prompt(&session, "Again").await?;
    assert_eq!(second.said(&session).len(), 8);
    second.load(&session).await?;
    assert_eq!(second.said(&session), [replayed("Hello"), odd, replayed("Again")].concat());
    assert!(second.hang_up().await?);
    Ok(())
}

#[tokio::test]
async fn an_agent_that_numbers_its_sessions_anew_gets_another_chat() -> Result<()> {
    let database = Database::create().await?;
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let mut client = Client::connect(&database, &["--", ECHO, "--forgets"]).await?;
        let session = client.new_session().await?;
        client.prompt(&session, "Hello").await?;
        assert_eq!(client.said(&session).len(), 8);
        client.load(&session).await?;
        assert_eq!(client.said(&session), replayed("Hello"));
        assert!(client.hang_up().await?);
        sessions.push(session);
    }
    assert_eq!(sessions[0], "session_0_1");
    assert_ne!(sessions[0], sessions[1]);
    Ok(())
}

#[tokio::test]
async fn an_agent_that_loads_sessions_goes_on_with_its_own() -> Result<()> {
    let database = Database::create().await?;
    // No chat can have such an id.
    let echo = ["--", ECHO, "--loads", "--prefix", "a session/"];
    let mut first = Client::connect(&database, &echo).await?;
    let session = first.new_session().await?;
    assert!(session.starts_with("chat_"), "{session}");
    first.prompt(&session, "Hello").await?;
    assert_eq!(first.said(&session).len(), 8);
    assert!(first.hang_up().await?);

    let mut second = Client::connect(&database, &echo).await?;
    let shown = second.call("initialize", json!({"protocolVersion": 1})).await?;
    assert_eq!(shown["agentCapabilities"]["sessionCapabilities"]["list"], json!({}));
    let listed = second.call("session/list", json!({})).await?["sessions"].clone();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!((&listed[0]["sessionId"], &listed[0]["title"]), (&json!(session), &json!("Hello")));
    let loaded = second.load(&session).await?;
    let own = loaded["_meta"]["loaded"].as_str().context("not loaded")?.to_owned();
    assert!(own.starts_with("a session/"), "{own}");
    // What the agent replays was shown already.
    let told = vec!["available_commands_update: ".to_owned()];
    assert_eq!(second.said(&session), [replayed("Hello"), told].concat());
    second.prompt(&session, "Again").await?;
    assert_eq!(second.said(&session).len(), 8);
    // A session that the agent has lost begins anew.
    let mut third =
        Client::connect(&database, &["--", ECHO, "--loads", "--prefix", "other_"]).await?;
    third.load(&session).await?;
    assert_eq!(third.said(&session).len(), 10);
    third.prompt(&session, "And again").await?;
    assert_eq!(third.said(&session).len(), 8);
    Ok(())
}

/// Returns the turns of a chat as they ended: the outcome, and the error of the resume point.
async fn endings(database: &Database, session: &str) -> Result<Vec<(String, Option<String>)>> {
    use futures::TryStreamExt as _;
    let points = database.raw().collection::<Document>("resume_points");
    let of_chat = doc! { "_id.chat_id": session };
    let found: Vec<Document> =
        points.find(of_chat).sort(doc! { "turn": 1 }).await?.try_collect().await?;
    let ending = |point: Document| {
        let status = point.get("status").map(ToString::to_string).unwrap_or_default();
        (status, point.get_str("error").ok().map(str::to_owned))
    };
    Ok(found.into_iter().map(ending).collect())
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_stored_as_far_as_it_was_shown() -> Result<()> {
    let database = Database::create().await?;
    let mut client = Client::connect(&database, &["--", ECHO]).await?;
    let session = client.new_session().await?;
    let waiting = client.ask("session/prompt", prompt(&session, "wait")).await?;
    let busy = client.refused("session/prompt", prompt(&session, "x")).await?;
    assert_eq!(busy.0, -32_600, "{busy:?}");
    client.notify("session/cancel", json!({"sessionId": session})).await?;
    let cancelled = client.response(&waiting).await?;
    assert_eq!(cancelled["result"]["stopReason"], "cancelled", "{cancelled}");
    let failed = client.refused("session/prompt", prompt(&session, "fail")).await?;
    assert_eq!(failed.1, "the model is away");
    client.prompt(&session, "silence").await?;
    client.updates.clear();
    client.ask("session/prompt", prompt(&session, "wait")).await?;
    // The client hangs up in the middle.
    client.until_updates(4).await?;
    client.updates.clear();
    assert!(client.hang_up().await?);

    let mut client = Client::connect(&database, &["--", ECHO]).await?;
    client.load(&session).await?;
    let expected = [
        "user_message_chunk: wait",
        "agent_message_chunk: You said: wait",
        "user_message_chunk: fail",
        "user_message_chunk: silence",
        "user_message_chunk: wait",
        "agent_message_chunk: You said: wait",
    ];
    assert_eq!(client.said(&session), expected);
    let left = client.refused("session/prompt", prompt(&session, "leave")).await?;
    assert_eq!(left.1, "the agent has ended");
    assert!(!client.hang_up().await?);
    let errors: Vec<_> = endings(&database, &session).await?.into_iter().map(|it| it.1).collect();
    let error = |text: &str| Some(text.to_owned());
    let expected = [
        None,
        error("the model is away"),
        error("the agent said nothing"),
        None,
        error("the agent has ended"),
    ];
    assert_eq!(errors, expected);
    Ok(())
}

#[tokio::test]
async fn an_agent_that_cannot_be_started_is_named() -> Result<()> {
    let database = Database::create().await?;
    let output =
        binary::run(&["acp", "acme_corp", "--", "/no/such/agent"], &Settings::of(&database))
            .await?;
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr)?;
    assert!(said.contains("cannot start /no/such/agent"), "{said}");
    assert!(output.stdout.is_empty());
    Ok(())
}

#[tokio::test]
async fn sessions_are_listed_however_many_other_chats_are_newer() -> Result<()> {
    let database = Database::create().await?;
    let mut client = Client::connect(&database, &[]).await?;
    let session = client.new_session().await?;
    let options = MongoOptions::new(database.uri(), database.name());
    let store = MongoStore::connect(&options).await?;
    let scope = Scope::service(AppId::parse("acme_corp")?);
    for _ in 0..101 {
        let new = NewChatSession::of(WorkflowName::parse("Picnic")?);
        store.create_chat(&scope, new).await?;
    }
    let listed = client.call("session/list", json!({})).await?;
    assert_eq!(listed["sessions"][0]["sessionId"], session, "{listed}");
    Ok(())
}

#[tokio::test]
async fn an_agent_that_speaks_while_it_is_spoken_to_is_heard() -> Result<()> {
    let database = Database::create().await?;
    // It reads on when everything that it says was taken.
    let speaks = r#"{"jsonrpc":"2.0","method":"log","params":{"text":"%01000d"}}\n"#;
    let script =
        format!("read line; for _ in $(seq 400); do printf '{speaks}' 0; done; cat >/dev/null");
    let mut client = Client::start(&database, &["--", "sh", "-c", &script]).await?;
    client.notify("initialize", json!({"protocolVersion": 1})).await?;
    client.notify("image", json!({"data": "x".repeat(300_000)})).await?;
    for _ in 0..400 {
        assert_eq!(client.read().await?["method"], "log");
    }
    assert!(client.hang_up().await?);
    Ok(())
}

#[tokio::test]
async fn an_answer_is_stored_when_the_process_is_told_to_stop() -> Result<()> {
    let database = Database::create().await?;
    for told in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut client = Client::connect(&database, &["--", ECHO]).await?;
        let session = client.new_session().await?;
        client.ask("session/prompt", prompt(&session, "wait")).await?;
        client.until_updates(4).await?;
        send(&client.child, told)?;
        let ended = within(MAX_WAIT, "its end", client.child.wait()).await??;
        assert!(ended.success(), "{told:?}: {ended}");

        let mut other = Client::connect(&database, &[]).await?;
        other.load(&session).await?;
        let said = ["user_message_chunk: wait", "agent_message_chunk: You said: wait"];
        assert_eq!(other.said(&session), said, "{told:?}");
        assert_eq!(endings(&database, &session).await?.len(), 1);
        // An agent without a model stops as well.
        send(&other.child, told)?;
        assert!(within(MAX_WAIT, "its end", other.child.wait()).await??.success());
    }
    Ok(())
}

#[tokio::test]
async fn what_an_agent_says_is_stored_whatever_it_is() -> Result<()> {
    let database = Database::create().await?;
    let mut client = Client::connect(&database, &["--user", "alice", "--", ECHO]).await?;
    let session = client.new_session().await?;
    // A number that cannot be stored.
    client.requests += 1;
    let prompt_line = format!(
        r#"{{"jsonrpc":"2.0","id":{},"method":"session/prompt","params":{{"sessionId":"{session}","prompt":[{{"type":"text","text":"a","_meta":{{"n":18446744073709551615}}}}]}}}}"#,
        client.requests
    );
    client.send(&prompt_line).await?;
    let id = client.requests.into();
    let ended = client.response(&id).await?;
    assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
    client.updates.clear();

    client.ask("session/prompt", prompt(&session, "rough")).await?;
    let mut rough = Vec::new();
    for _ in 0..4 {
        rough.push(within(MAX_WAIT, "a line", client.lines.next_line()).await??.context("ended")?);
    }
    // The client gets what the agent wrote.
    assert!(rough[0].contains(r"half \ud83e"), "{}", rough[0]);
    assert!(rough[3].contains("18446744073709551615"), "{}", rough[3]);
    client.prompt(&session, "huge").await?;
    client.prompt(&session, "open").await?;
    client.updates.clear();
    client.prompt(&session, "late").await?;
    client.until_updates(3).await?;
    client.updates.clear();
    // It is stored before what is prompted next.
    client.prompt(&session, "silence").await?;
    client.load(&session).await?;
    let huge = client.updates.remove(10);
    let huge = huge["update"]["content"]["text"].as_str().unwrap_or_default();
    let is_cut = huge.ends_with(" further bytes are not stored]");
    assert!(is_cut && huge.len() > 4_000_000, "{}", huge.len());
    let call = &client.updates[7]["update"];
    assert_eq!(call["rawInput"], json!({"n": "18446744073709551615"}), "{call}");
    let expected = [
        "user_message_chunk: a",
        "agent_message_chunk: You said: a",
        "tool_call: pending",
        "tool_call_update: completed",
        "agent_message_chunk: Done.",
        "user_message_chunk: rough",
        "agent_message_chunk: half \u{FFFD}",
        "tool_call: pending",
        "tool_call_update: completed",
        "user_message_chunk: huge",
        "user_message_chunk: open",
        "tool_call: pending",
        "user_message_chunk: late",
        "agent_message_chunk: In time.",
        "agent_message_chunk: Afterwards.",
        "user_message_chunk: silence",
    ];
    assert_eq!(client.said(&session), expected);
    client.prompt(&session, "late").await?;
    assert!(client.hang_up().await?);
    // Also if nothing else is prompted.
    let mut client = Client::connect(&database, &["--user", "alice"]).await?;
    client.load(&session).await?;
    let said = client.said(&session);
    assert_eq!(said.last().map(String::as_str), Some("agent_message_chunk: Afterwards."));
    // It is not the session of another person.
    let mut other = Client::connect(&database, &["--user", "bob"]).await?;
    let params = json!({"sessionId": session, "cwd": "/work", "mcpServers": []});
    assert_eq!(other.refused("session/load", params).await?.0, -32_002);
    Ok(())
}

#[tokio::test]
async fn a_session_is_loaded_while_it_is_answered() -> Result<()> {
    let database = Database::create().await?;
    let mut client = Client::connect(&database, &["--", ECHO, "--loads", "--prefix", "a "]).await?;
    let session = client.new_session().await?;
    let waiting = client.ask("session/prompt", prompt(&session, "wait")).await?;
    client.until_updates(4).await?;
    client.load(&session).await?;
    let said = ["user_message_chunk: wait", "agent_message_chunk: You said: wait"];
    assert_eq!(client.said(&session), said);
    client.notify("session/cancel", json!({"sessionId": session})).await?;
    let cancelled = client.response(&waiting).await?;
    assert_eq!(cancelled["result"]["stopReason"], "cancelled");
    // What the agent tells of the session is passed on, although it replays.
    client.load(&session).await?;
    let told = "available_commands_update: ";
    assert_eq!(client.said(&session), [said[0], said[1], told]);
    assert!(client.hang_up().await?);
    Ok(())
}

#[tokio::test]
async fn sessions_are_resumed_forked_and_deleted_with_those_of_the_agent() -> Result<()> {
    let database = Database::create().await?;
    let echo = ["--", ECHO, "--manages", "--prefix", "a session/"];
    let mut first = Client::connect(&database, &echo).await?;
    let session = first.new_session().await?;
    first.prompt(&session, "Hello").await?;
    first.hang_up().await?;

    let mut second = Client::connect(&database, &echo).await?;
    second.updates.clear();
    let params = json!({"sessionId": session, "cwd": "/work", "mcpServers": []});
    let resumed = second.call("session/resume", params.clone()).await?;
    let own = resumed["_meta"]["of"].as_str().context("no session")?.to_owned();
    assert!(own.starts_with("a session/"), "{own}");
    assert_eq!(second.updates.len(), 0);
    second.prompt(&session, "Again").await?;
    assert_eq!(second.said(&session).len(), 8);
    // An agent that cannot load a session may know it nevertheless.
    second.load(&session).await?;
    assert_eq!(second.said(&session), [replayed("Hello"), replayed("Again")].concat());

    let forked = second.call("session/fork", params.clone()).await?;
    let fork = forked["sessionId"].as_str().context("no fork")?.to_owned();
    assert!(fork.starts_with("chat_") && fork != session, "{fork}");
    second.prompt(&fork, "Elsewhere").await?;
    assert_eq!(second.said(&fork).len(), 8);
    second.load(&fork).await?;
    let all = ["Hello", "Again", "Elsewhere"].map(replayed).concat();
    assert_eq!(second.said(&fork), all);
    let deleted = second.call("session/delete", json!({"sessionId": session})).await?;
    assert_eq!(deleted["_meta"]["of"], own, "{deleted}");
    let listed = second.call("session/list", json!({})).await?["sessions"].clone();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(second.refused("session/load", params).await?.0, -32_002);
    assert!(second.hang_up().await?);

    // Agents that can do neither: the session begins anew, and is deleted here alone.
    let mut third = Client::connect(&database, &["--", ECHO]).await?;
    third
        .call("session/resume", json!({"sessionId": fork, "cwd": "/work", "mcpServers": []}))
        .await?;
    third.prompt(&fork, "Anew").await?;
    assert_eq!(third.said(&fork).len(), 8);
    third.call("session/delete", json!({"sessionId": fork})).await?;
    assert_eq!(third.call("session/list", json!({})).await?["sessions"], json!([]));
    let mut alone = Client::connect(&database, &[]).await?;
    let session = alone.new_session().await?;
    alone.call("session/delete", json!({"sessionId": session})).await?;
    assert_eq!(alone.refused("session/resume", json!({"sessionId": session})).await?.0, -32_002);
    Ok(())
}

#[tokio::test]
async fn an_answer_is_kept_while_the_store_is_away() -> Result<()> {
    let mongod = LocalMongod::start(Options::for_tests()).await?;
    let database = Database::on(mongod.uri()).await?;
    let settings = Settings::of(&database).with("mongo.deadline_ms", 2_000);
    let mut client = Client::start_with(&settings, &["--", ECHO]).await?;
    client.call("initialize", json!({"protocolVersion": 1})).await?;
    let session = client.new_session().await?;
    let waiting = client.ask("session/prompt", prompt(&session, "wait")).await?;
    client.until_updates(4).await?;
    mongod.kill_hard().await?;
    client.notify("session/cancel", json!({"sessionId": session})).await?;
    let refused = client.response(&waiting).await?["error"]["message"].clone();
    assert!(refused.as_str().is_some_and(|it| it.contains("the answer is kept")), "{refused}");
    let early = client.refused("session/prompt", prompt(&session, "x")).await?;
    assert!(early.1.contains("the store is "), "{early:?}");
    mongod.restart().await?;
    client.updates.clear();
    // On a slow disk mongod takes longer to come back than a call waits for it.
    let mut prompted = client.prompt(&session, "Hello").await.map(drop);
    for _ in 0..20 {
        if prompted.is_ok() {
            break;
        }
        prompted = client.prompt(&session, "Hello").await.map(drop);
    }
    prompted?;
    client.load(&session).await?;
    let said = ["user_message_chunk: wait", "agent_message_chunk: You said: wait"];
    let said = said.map(str::to_owned).to_vec();
    assert_eq!(client.said(&session), [said, replayed("Hello")].concat());
    assert!(client.hang_up().await?);
    mongod.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_process_that_ends_leaves_its_private_mongod_to_the_others() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let settings = Settings::embedded(dir.path());
    let mut first = Client::start_with(&settings, &[]).await?;
    let session = first.new_session().await?;
    let mut second = Client::start_with(&settings, &["--", ECHO]).await?;
    let own = second.new_session().await?;
    assert!(first.hang_up().await?);
    second.prompt(&own, "Hello").await?;
    let service = Service::start(&settings).await?;
    assert!(second.hang_up().await?);
    let mut third = Client::start_with(&settings, &[]).await?;
    third.call("session/resume", json!({"sessionId": session})).await?;
    third.load(&own).await?;
    assert_eq!(third.said(&own), replayed("Hello"));
    assert!(third.hang_up().await?);
    service.stop().await?;
    Ok(())
}

#[tokio::test]
async fn others_follow_an_answer_and_it_outlives_its_process() -> Result<()> {
    let database = Database::create().await?;
    let service = Service::start(&Settings::of(&database)).await?;
    let mut client = Client::connect(&database, &["--", ECHO]).await?;
    let session = client.new_session().await?;
    let waiting = client.ask("session/prompt", prompt(&session, "wait")).await?;
    client.until_updates(4).await?;

    // Another process sees what was said so far, and may stop the agent.
    let url = format!("{}/api/chats/acme_corp/{session}/streams", service.url());
    let http = reqwest::Client::new();
    let stream = async || -> Result<Value> {
        Ok(http
            .get(&url)
            .send()
            .await?
            .json::<Value>()
            .await?
            .pointer_mut("/streams/0")
            .map(Value::take)
            .unwrap_or_default())
    };
    let has_all = async || {
        let stream = stream().await?;
        Ok((stream["state"] == "running" && stream["next"] == 3).then_some(()))
    };
    until("the chunks", has_all).await?;
    let running = stream().await?;
    assert_eq!((&running["state"], &running["format"]), (&json!("running"), &json!("acp")));
    let mut other = Client::connect(&database, &["--", ECHO]).await?;
    other.load(&session).await?;
    let busy = other.refused("session/prompt", prompt(&session, "me, too")).await?;
    assert!(busy.1.contains("another process"), "{busy:?}");
    let id = running["stream_id"].as_str().context("no stream")?;
    http.post(format!("{url}/{id}/cancel")).send().await?.error_for_status()?;
    let cancelled = client.response(&waiting).await?;
    assert_eq!(cancelled["result"]["stopReason"], "cancelled");
    assert_eq!(stream().await?["state"], "cancelled");

    client.ask("session/prompt", prompt(&session, "wait")).await?;
    client.until_updates(8).await?;
    until("the chunks", has_all).await?;
    send(&client.child, Signal::KILL)?;
    // As if its process had been silent for long.
    let streams = database.raw().collection::<Document>("stream_groups");
    let past = doc! { "$set": { "written_at": DateTime::from_millis(0) } };
    assert!(streams.update_many(doc! {}, past).await?.modified_count > 0);
    other.load(&session).await?;
    let said = ["user_message_chunk: wait", "agent_message_chunk: You said: wait"];
    assert_eq!(other.said(&session), [said, said].concat());
    assert_eq!(stream().await?["state"], "cancelled");
    other.prompt(&session, "Hello").await?;
    assert_eq!(stream().await?["state"], "finished");
    assert!(other.hang_up().await?);
    service.stop().await
}
