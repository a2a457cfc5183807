//! Chats in which a person leaves text wherever the API takes it.

use anyhow::{Context as _, Result, ensure};
use mongodb::bson::{Document, doc};
use reqwest::Method;
use serde_json::{Value, json};
use tests::client::{APP, Client};
use tests::database::Database;
use tests::waiting::until;

use super::planter::{Operation, Planter};

/// The messages of others with which a chat is filled, so that it is sealed.
const FILLERS: usize = 100;

/// The stream of a chat that needs one.
const STREAM: &str = "stream-1";

/// In a chat of the person.
pub(super) const OWN: &str = "own";
/// In a chat of another person.
pub(super) const ELSEWHERE: &str = "elsewhere";

/// What an operation needs before it is called.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Needs {
    Nothing,
    /// A chat.
    Chat,
    /// A chat with a message of the person.
    Message,
    /// A chat with a pending question.
    Question,
    /// A chat whose messages are then sealed, shared, edited and deleted. The operation stores messages.
    Messages,
    /// The same, in a chat without messages, which has room for the operation once.
    FirstMessages,
    /// A wallet.
    Wallet,
    /// An assistant of the person.
    Assistant,
    /// Nothing, but the owner of the document.
    Document,
    /// A chat with a running stream.
    Stream,
}

/// The operations with texts of a person, in the person's chats.
pub(super) const IN_OWN_CHATS: &[(&str, Needs)] = &[
    ("create_chat", Needs::Nothing),
    ("ensure_chat", Needs::Nothing),
    ("update_chat", Needs::Chat),
    ("hold_chat", Needs::Chat),
    ("put_artifact", Needs::Chat),
    ("record_calls", Needs::Chat),
    ("record_tool_runs", Needs::Chat),
    ("complete_chat", Needs::Chat),
    ("pause_chat", Needs::Chat),
    ("fail_chat", Needs::Chat),
    ("replace_context", Needs::Chat),
    ("merge_context", Needs::Chat),
    ("append_exchange", Needs::Messages),
    ("fork_chat", Needs::Message),
    ("persist_initial_messages", Needs::FirstMessages),
    ("request_input", Needs::Chat),
    ("answer_input_request", Needs::Question),
    ("cancel_input_request", Needs::Question),
    ("submit_user_input", Needs::Question),
    ("acquire_lease", Needs::Chat),
    ("append_messages", Needs::Messages),
    ("update_message", Needs::Message),
    ("update_message_by_id", Needs::Message),
    ("join_chat", Needs::Chat),
    ("create_ticket", Needs::Chat),
    ("put_transcript", Needs::FirstMessages),
    ("append_turn", Needs::Messages),
    ("say", Needs::Messages),
    ("consume_tokens", Needs::Wallet),
    ("credit_wallet", Needs::Wallet),
    ("debit_wallet", Needs::Wallet),
    ("put_assistant", Needs::Assistant),
    ("update_assistant", Needs::Assistant),
    ("put_document", Needs::Document),
    ("append_document", Needs::Document),
    ("start_stream", Needs::Chat),
    ("append_chunks", Needs::Stream),
    ("end_stream", Needs::Stream),
];

/// The operations with texts of a person, in chats of another person. What the others' agents write there is not the person's.
pub(super) const IN_OTHER_CHATS: &[(&str, Needs)] = &[
    ("append_exchange", Needs::Messages),
    ("persist_initial_messages", Needs::FirstMessages),
    ("answer_input_request", Needs::Question),
    ("submit_user_input", Needs::Question),
    ("append_messages", Needs::Messages),
    ("update_message", Needs::Message),
    ("update_message_by_id", Needs::Message),
    ("join_chat", Needs::Chat),
    ("create_ticket", Needs::Chat),
    ("append_turn", Needs::Messages),
    ("say", Needs::Messages),
];

/// The callers, and what they have written.
#[derive(Debug)]
pub(super) struct World<'a> {
    pub(super) planter: Planter,
    pub(super) service: Client,
    pub(super) operator: Client,
    pub(super) person: Client,
    pub(super) database: &'a Database,
    /// The chats that go on without the person: those of others, and forks.
    pub(super) lasting: Vec<String>,
}

/// A chat in which an operation is called.
struct Place {
    side: &'static str,
    chat_id: String,
    request_id: String,
}

impl World<'_> {
    /// Calls an operation with each of its bodies, each in a chat of its own.
    pub(super) async fn write(&mut self, side: &'static str, id: &str, needs: Needs) -> Result<()> {
        let alternatives = self.planter.bodies(side, id)?.len();
        for alternative in 0..alternatives {
            let place = self.place(side, needs).await?;
            let call = self.write_in(place, id, needs, alternative);
            call.await.with_context(|| format!("{side} {id}, body {alternative}"))?;
        }
        Ok(())
    }

    async fn write_in(
        &mut self,
        mut place: Place,
        id: &str,
        needs: Needs,
        alternative: usize,
    ) -> Result<()> {
        let times = if needs == Needs::Messages { 4 } else { 1 };
        for _ in 0..times {
            let answer = self.call(&place, id, alternative).await?;
            if needs == Needs::Nothing {
                answer["chat_id"].as_str().context("no id")?.clone_into(&mut place.chat_id);
            }
        }
        let place = &place;
        if id == "hold_chat" {
            let path = format!("/api/apps/{APP}/holds/{}", place.chat_id);
            self.operator.call(Method::DELETE, &path, None).await?;
        }
        if matches!(needs, Needs::Messages | Needs::FirstMessages) {
            self.fill(place).await?;
        }
        if needs == Needs::Messages {
            self.call(place, id, alternative).await?;
        }
        if matches!(needs, Needs::Wallet | Needs::Assistant | Needs::Document) {
            return Ok(());
        }
        let fork = self.fork(place).await?;
        // Persons edit what they have said themselves.
        let is_theirs = place.side == ELSEWHERE && ["append_messages", "say"].contains(&id);
        let by = if is_theirs { self.person.clone() } else { self.service.clone() };
        match needs {
            Needs::Messages => {
                self.edit(&by, place.side, &place.chat_id, 0).await?;
                self.delete(&by, &place.chat_id, 1).await?;
                self.edit(&self.service.clone(), place.side, &fork, 2).await?;
                self.delete(&self.service, &fork, 0).await?;
            }
            // Only the first message is the person's.
            Needs::FirstMessages => self.edit(&by, place.side, &fork, 0).await?,
            _ => {}
        }
        Ok(())
    }

    async fn place(&mut self, side: &'static str, needs: Needs) -> Result<Place> {
        let chat_id = self.planter.unique();
        let mut place = Place { side, request_id: String::new(), chat_id };
        if matches!(needs, Needs::Nothing | Needs::Document) {
            return Ok(place);
        }
        if needs == Needs::Assistant {
            let path = format!("/api/assistants/{APP}/{}", place.chat_id);
            let assistant = json!({ "name": "Ada", "user_id": self.planter.person() });
            self.service.call(Method::PUT, &path, Some(&assistant)).await?;
            return Ok(place);
        }
        let owner = if side == OWN { self.planter.person() } else { "somebody".to_owned() };
        let chat = json!({
            "chat_id": place.chat_id, "workflow_name": "Generator", "user_id": owner,
            "visibility": "link",
        });
        let chats = format!("/api/chats/{APP}");
        self.service.call(Method::POST, &chats, Some(&chat)).await?;
        if side == ELSEWHERE {
            self.lasting.push(place.chat_id.clone());
            let member = format!("{chats}/{}/members/{}", place.chat_id, self.planter.person());
            self.service.call(Method::PUT, &member, Some(&json!({ "role": "member" }))).await?;
        }
        match needs {
            Needs::Message => drop(self.call(&place, "append_messages", 0).await?),
            Needs::Question => {
                place.request_id = self.planter.unique();
                let question = json!({ "request_id": place.request_id, "prompt": "Why?" });
                let path = format!("{chats}/{}/input-requests", place.chat_id);
                self.service.call(Method::POST, &path, Some(&question)).await?;
            }
            Needs::Stream => {
                let path = format!("{chats}/{}/streams", place.chat_id);
                let stream = json!({ "stream_id": STREAM, "format": "text" });
                self.service.call(Method::POST, &path, Some(&stream)).await?;
            }
            Needs::Wallet => {
                let path = format!("/api/wallets/{APP}/{}/ensure", self.planter.person());
                let balance = json!({ "initial_balance": 1_000 });
                self.service.call(Method::POST, &path, Some(&balance)).await?;
            }
            _ => {}
        }
        Ok(place)
    }

    /// Calls an operation with a body that has tokens.
    async fn call(&mut self, place: &Place, id: &str, alternative: usize) -> Result<Value> {
        let mut body = self.planter.bodies(place.side, id)?.swap_remove(alternative);
        if id == "submit_user_input" {
            body["input_request_id"] = json!(place.request_id);
            body["chat_id"] = json!(place.chat_id);
        }
        let Operation { method, path } = self.planter.operation(id)?;
        let first_id = if path.contains("{event_id}") {
            self.first_id(&place.chat_id).await?
        } else {
            String::new()
        };
        let mut path = path
            .replace("{app_id}", APP)
            .replace("{chat_id}", &place.chat_id)
            .replace("{assistant_id}", &place.chat_id)
            .replace("{path}", &place.chat_id)
            .replace("{stream_id}", STREAM)
            .replace("{user_id}", &self.planter.person())
            .replace("{request_id}", &place.request_id)
            .replace("{sequence}", "0")
            .replace("{event_id}", &first_id);
        ensure!(!path.contains('{'), "{path}");
        let is_transcript = id == "put_transcript" || id == "append_messages" && alternative == 2;
        if is_transcript {
            path.push_str("?dialect=anthropic");
        }
        if ["put_document", "append_document"].contains(&id) {
            path.push_str("?user_id=");
            path.push_str(&self.planter.person());
        }
        let caller = match id {
            // Its messages have the author of the token.
            _ if is_transcript && place.side == ELSEWHERE => &self.person,
            "hold_chat" => &self.operator,
            "update_message" | "update_message_by_id" | "say" | "submit_user_input" => &self.person,
            _ => &self.service,
        };
        Ok(caller.call(method, &path, Some(&body)).await?)
    }

    async fn first_id(&self, chat_id: &str) -> Result<String> {
        let first = self.service.chat(chat_id).get("messages/0").await?;
        Ok(first["event_id"].as_str().context("no id")?.to_owned())
    }

    /// Appends messages of others until the first messages are sealed.
    async fn fill(&self, place: &Place) -> Result<()> {
        let chat = self.service.chat(&place.chat_id);
        for _ in 0..4 {
            chat.append(&vec![json!({ "role": "assistant", "content": "x" }); FILLERS / 4]).await?;
        }
        let segments = self.database.raw().collection::<Document>("chat_segments");
        until("the messages to be sealed", async || {
            Ok(segments.find_one(doc! { "_id.chat_id": &place.chat_id }).await?)
        })
        .await?;
        Ok(())
    }

    async fn fork(&mut self, place: &Place) -> Result<String> {
        let fork = json!({ "chat_id": self.planter.unique(), "user_id": "another" });
        let path = format!("/api/chats/{APP}/{}/fork", place.chat_id);
        let forked = self.service.call(Method::POST, &path, Some(&fork)).await?;
        let fork = forked["chat_id"].as_str().context("no id")?.to_owned();
        self.lasting.push(fork.clone());
        Ok(fork)
    }

    async fn edit(
        &mut self,
        by: &Client,
        side: &'static str,
        chat_id: &str,
        sequence: u64,
    ) -> Result<()> {
        let edit = self.planter.bodies(side, "update_message")?.swap_remove(0);
        by.chat(chat_id).send(Method::PATCH, &format!("messages/{sequence}"), Some(&edit)).await?;
        Ok(())
    }

    async fn delete(&self, by: &Client, chat_id: &str, sequence: u64) -> Result<()> {
        by.chat(chat_id).send(Method::DELETE, &format!("messages/{sequence}"), None).await?;
        Ok(())
    }

    /// Reads everything that a service shows of the chats that go on.
    pub(super) async fn shown(&self, service: &Client) -> Result<Vec<Value>> {
        let mut shown = Vec::new();
        for chat_id in &self.lasting {
            let chat = service.chat(chat_id);
            shown.push(Value::from(chat.messages().await?));
            for what in ["meta", "context", "participants", "input-requests"] {
                shown.push(chat.get(what).await?);
            }
            let mut events = chat.events(None).await?;
            while let Some(event) = events.next().await? {
                let is_last = event.name == "caught-up";
                shown.push(event.data);
                if is_last {
                    break;
                }
            }
        }
        Ok(shown)
    }
}
