//! Everything that is stored about a person in an app, as lines of JSON.

use std::future::ready;
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;

use async_stream::try_stream;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _, TryStreamExt as _};
use persistence::{
    AssistantCursor, AssistantFilter, DocumentContent, DocumentFilter, DocumentRange, HourlyStats,
    Inherited, InputCursor, ParticipantCursor, PersonChat, ResumePointFilter, Store, StoreError,
    ToolRunCursor, ToolRunFilter,
};
use records::{
    AppId, ChatId, ChatSession, DocumentHead, DocumentPath, Message, Scope, UserId, WorkflowName,
};
use serde::Serialize;

use crate::api::contexts::version::KeptContextResponse;
use crate::api::members::list::MemberResponse;
use crate::api::user_stats::get::UserStatsResponse;
use crate::wire::{
    ArtifactResponse, AssistantResponse, ChatSessionResponse, DocumentHeadResponse, EntryResponse,
    InputRequestResponse, MessageResponse, ParticipantResponse, ResumePointResponse, Time,
    ToolRunFields, UsageFields, WalletResponse,
};

/// How many chats are searched, or records read, at a time.
const BATCH: usize = 100;

/// How many bytes of a document a line has at most.
const DOCUMENT_PART: u64 = 1 << 20;

/// A line of an export; `record` says what it holds.
///
/// Each record is in an object of its own, as the API returns it: messages have fields that their callers named.
#[derive(Debug, Serialize)]
#[serde(tag = "record", rename_all = "snake_case")]
enum Record {
    /// The first line.
    Export { app_id: AppId, user_id: UserId, exported_at: Time },
    /// A chat of the person; everything in it follows.
    Chat { chat: Box<ChatSessionResponse> },
    /// A chat of another owner; what the person said and is called in it follows, and what it has taken over from a chat of the
    /// person that shows it differently now.
    OtherChat { chat_id: ChatId, workflow_name: WorkflowName, created_at: Time },
    /// A message, also one that is deleted.
    Message { chat_id: ChatId, message: Box<MessageResponse> },
    /// A version of the context snapshot that is still stored.
    Context { context: KeptContextResponse },
    /// The last artifact.
    Artifact { artifact: ArtifactResponse },
    /// A step of a turn that broke off.
    ResumePoint { chat_id: ChatId, resume_point: Box<ResumePointResponse> },
    /// A question, with its answer.
    InputRequest { input_request: Box<InputRequestResponse> },
    /// A run of a tool.
    ToolRun { chat_id: ChatId, tool_run: Box<ToolRunFields> },
    /// A user with whom the chat is shared.
    Member { chat_id: ChatId, member: MemberResponse },
    /// A user who joined the chat.
    Participant { chat_id: ChatId, participant: ParticipantResponse },
    /// The wallet of the person.
    Wallet { wallet: WalletResponse },
    /// A change of the wallet.
    WalletEntry { entry: EntryResponse },
    /// An assistant of the person.
    Assistant { assistant: Box<AssistantResponse> },
    /// A part of a document of the person, or of a chat of theirs; a document without content has one empty part.
    Document { document: Box<DocumentHeadResponse>, offset: u64, content_base64: String },
    /// The usage of the chats that the person owns or owned; null while an upgrade from a release without it is not finished.
    Usage { usage: Option<UserStatsResponse> },
    /// The same usage in one hour of one workflow.
    UsageHour { workflow_name: WorkflowName, hour: Time, usage: UsageFields },
    /// The last line; without it the export is incomplete.
    End { searched: u64, chats: u64, messages: u64 },
}

/// A step of an export.
#[derive(Debug)]
pub enum Exported {
    /// A JSON object, without an end of line.
    Line(String),
    /// How many chats were searched so far.
    Searched(u64),
}

/// Why an export broke off.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record cannot be written as JSON.
    #[error("a record cannot be written as JSON")]
    Json(#[from] serde_json::Error),
}

/// Reads everything that is stored about a person in an app, in deleted chats too: their chats, and in chats of others what
/// they said, edited, deleted, answered and are called; their wallet, their assistants and their documents; and the usage of their
/// chats, purged ones too.
///
/// What is written meanwhile may be missing. No more than a page of records is held at a time.
pub fn export(
    store: Arc<dyn Store>,
    app_id: AppId,
    user_id: UserId,
    now: DateTime<Utc>,
) -> impl Stream<Item = Result<Exported, ExportError>> {
    let person = Person { store, scope: Scope::service(app_id).finding_deleted(), user_id };
    try_stream! {
        let (app_id, user_id) = (person.scope.app_id.clone(), person.user_id.clone());
        yield line(&Record::Export { app_id, user_id, exported_at: now.into() })?;
        let (mut searched, mut chats, mut messages) = (0, 0, 0);
        let mut after = None;
        loop {
            let app_id = &person.scope.app_id;
            let step = person.store.find_chats_of(app_id, &person.user_id, after.as_ref(), BATCH);
            let step = step.await?;
            for chat in step.found {
                let mut records = pin!(person.in_chat(&chat));
                while let Some(record) = records.try_next().await? {
                    match record {
                        Record::Chat { .. } | Record::OtherChat { .. } => chats += 1,
                        Record::Message { .. } => messages += 1,
                        _ => {}
                    }
                    yield line(&record)?;
                }
            }
            searched += step.searched;
            yield Exported::Searched(searched);
            after = step.last;
            if after.is_none() {
                break;
            }
        }
        let records = person.wallet().chain(person.assistants()).chain(Box::pin(person.documents()));
        let mut records = pin!(records.chain(person.usage()));
        while let Some(record) = records.try_next().await? {
            yield line(&record)?;
        }
        yield line(&Record::End { searched, chats, messages })?;
    }
}

fn line(record: &Record) -> Result<Exported, serde_json::Error> {
    serde_json::to_string(record).map(Exported::Line)
}

/// Reads a list to its end, page by page.
fn whole<T, C>(
    read: impl AsyncFn(Option<C>) -> Result<(Vec<T>, Option<C>), StoreError>,
) -> impl Stream<Item = Result<T, StoreError>> {
    try_stream! {
        let mut cursor = None;
        loop {
            let (records, next) = read(cursor).await?;
            for record in records {
                yield record;
            }
            cursor = next;
            if cursor.is_none() {
                break;
            }
        }
    }
}

/// What a chat of the person shows of the messages that a fork has taken over, read beside the fork.
struct Source<'a> {
    span: Range<u64>,
    messages: BoxStream<'a, Result<Message, StoreError>>,
    /// The last message that was read.
    shown: Option<Message>,
}

impl<'a> Source<'a> {
    fn new(store: &'a Arc<dyn Store>, scope: &'a Scope, inherited: &'a Inherited) -> Self {
        let messages = store.history(scope, &inherited.source);
        Self { span: inherited.span.clone(), messages, shown: None }
    }

    /// Returns whether a fork has text that the chat does not show. The messages of the fork must come in order.
    async fn differs(&mut self, message: &Message) -> Result<bool, StoreError> {
        if message.deleted_at.is_some() || !self.span.contains(&message.sequence) {
            return Ok(false);
        }
        while self.shown.as_ref().is_none_or(|shown| shown.sequence < message.sequence) {
            match self.messages.try_next().await {
                Ok(Some(next)) => self.shown = Some(next),
                // The chat was purged meanwhile.
                Ok(None) | Err(StoreError::ChatNotFound(_)) => return Ok(true),
                Err(error) => return Err(error),
            }
        }
        Ok(self.shown.as_ref().is_none_or(|shown| shown.body != message.body))
    }
}

/// A person in an app.
struct Person {
    store: Arc<dyn Store>,
    scope: Scope,
    user_id: UserId,
}

impl Person {
    /// Reads what a chat holds of the person: all of it, if the chat is theirs.
    fn in_chat(&self, found: &PersonChat) -> impl Stream<Item = Result<Record, StoreError>> {
        try_stream! {
            let PersonChat { chat_id, inherited } = found;
            // A chat that was purged is left out. Forks that show its messages are found themselves.
            let Some(chat) = self.store.get_chat(&self.scope, chat_id).await? else { return };
            let is_theirs = chat.user_id.as_ref() == Some(&self.user_id);
            yield first_of(chat, is_theirs);
            let messages = Box::pin(self.messages_in(chat_id, inherited, is_theirs));
            let said = messages.chain(self.asked_in(chat_id, is_theirs));
            let mut records = pin!(said.chain(self.people_in(chat_id, is_theirs)));
            while let Some(record) = records.try_next().await? {
                yield record;
            }
            if is_theirs {
                let mut records = pin!(self.state_of(chat_id));
                while let Some(record) = records.try_next().await? {
                    yield record;
                }
            }
        }
    }

    /// Reads messages: all; or those that the person wrote or changed, and of those that were taken over from chats of the person
    /// the ones that these chats show differently now.
    fn messages_in(
        &self,
        chat_id: &ChatId,
        inherited: &[Inherited],
        all: bool,
    ) -> impl Stream<Item = Result<Record, StoreError>> {
        let Self { store, scope, user_id } = self;
        try_stream! {
            let mut sources: Vec<_> = inherited.iter().map(|it| Source::new(store, scope, it)).collect();
            let mut messages = store.history(scope, chat_id);
            while let Some(message) = messages.try_next().await? {
                let mut is_read = all || message.names(user_id);
                for source in &mut sources {
                    is_read |= source.differs(&message).await?;
                }
                if is_read {
                    let message = Box::new(message.into());
                    yield Record::Message { chat_id: chat_id.clone(), message };
                }
            }
        }
    }

    /// Reads questions: all, or those that the person answered.
    fn asked_in<'a>(
        &'a self,
        chat_id: &'a ChatId,
        all: bool,
    ) -> impl Stream<Item = Result<Record, StoreError>> + 'a {
        let Self { store, scope, user_id } = self;
        let requests = whole(async |after: Option<InputCursor>| {
            let page = store.list_input_requests(scope, chat_id, BATCH, after.as_ref()).await?;
            Ok((page.requests, page.next))
        });
        let requests = requests.try_filter(move |it| ready(all || it.is_answered_by(user_id)));
        requests.map_ok(|request| Record::InputRequest { input_request: Box::new(request.into()) })
    }

    /// Reads members and participants: all, or the person as one of them.
    fn people_in(
        &self,
        chat_id: &ChatId,
        all: bool,
    ) -> impl Stream<Item = Result<Record, StoreError>> {
        let Self { store, scope, user_id } = self;
        let members =
            whole(async |_: Option<()>| Ok((store.list_members(scope, chat_id).await?, None)));
        let members = members.try_filter(move |it| ready(all || it.user_id == *user_id));
        let members = members
            .map_ok(|member| Record::Member { chat_id: chat_id.clone(), member: member.into() });
        let participants = whole(async |after: Option<ParticipantCursor>| {
            let page = store.list_participants(scope, chat_id, BATCH, after.as_ref()).await?;
            Ok((page.participants, page.next))
        });
        let participants = participants.try_filter(move |it| ready(all || it.user_id == *user_id));
        let participants = participants.map_ok(|participant| {
            let participant = participant.into();
            Record::Participant { chat_id: chat_id.clone(), participant }
        });
        members.chain(participants)
    }

    /// Reads what a workflow has written: versions of the context snapshot, the last artifact, resume points, runs of tools, and
    /// documents.
    fn state_of(&self, chat_id: &ChatId) -> impl Stream<Item = Result<Record, StoreError>> {
        let Self { store, scope, .. } = self;
        let versions = whole(async |before| {
            let page = store.list_context_versions(scope, chat_id, BATCH, before).await?;
            Ok((page.versions, page.next))
        });
        let contexts = versions.try_filter_map(async |version| {
            let kept = store.get_context_version(scope, chat_id, version.version).await?;
            let context = kept.map(|kept| KeptContextResponse::new(chat_id.clone(), kept));
            Ok(context.map(|context| Record::Context { context }))
        });
        let artifact = whole(async |_: Option<()>| {
            let artifact = store.get_last_artifact(scope, chat_id).await?;
            Ok((artifact.into_iter().collect(), None))
        });
        let artifact = artifact.map_ok(|artifact| {
            let artifact = ArtifactResponse::new(chat_id.clone(), Some(artifact));
            Record::Artifact { artifact }
        });
        let points = whole(async |cursor| {
            let all = ResumePointFilter::default();
            let page = store.list_resume_points(scope, chat_id, &all, BATCH, cursor).await?;
            Ok((page.points, page.next))
        });
        let points = points.map_ok(|point| {
            let resume_point = Box::new(point.into());
            Record::ResumePoint { chat_id: chat_id.clone(), resume_point }
        });
        let runs = whole(async |after: Option<ToolRunCursor>| {
            let all = ToolRunFilter::default();
            let page = store.list_tool_runs(scope, chat_id, &all, BATCH, after.as_ref()).await?;
            Ok((page.runs, page.next))
        });
        let runs = runs.map_ok(|run| {
            let tool_run = Box::new(run.into());
            Record::ToolRun { chat_id: chat_id.clone(), tool_run }
        });
        contexts
            .chain(artifact)
            .chain(points)
            .chain(runs)
            .chain(Box::pin(self.documents_in(chat_id)))
    }

    /// Reads the usage of all chats of the person, also of those that were purged.
    fn usage(&self) -> impl Stream<Item = Result<Record, StoreError>> {
        let Self { store, scope: Scope { app_id, .. }, user_id } = self;
        try_stream! {
            let stats = match store.user_stats(app_id, user_id).await {
                Err(StoreError::UpgradePending { .. }) => {
                    yield Record::Usage { usage: None };
                    return;
                }
                stats => stats?,
            };
            let usage = UserStatsResponse::new(app_id.clone(), user_id.clone(), stats);
            yield Record::Usage { usage: Some(usage) };
            let ever = DateTime::<Utc>::UNIX_EPOCH..DateTime::<Utc>::MAX_UTC;
            for hourly in store.hourly_user_stats(app_id, user_id, ever).await? {
                let HourlyStats { workflow_name, hour, rollup } = hourly;
                let usage = rollup.usage().into();
                yield Record::UsageHour { workflow_name, hour: hour.into(), usage };
            }
        }
    }

    fn assistants(&self) -> impl Stream<Item = Result<Record, StoreError>> {
        let Self { store, scope, user_id } = self;
        let theirs =
            AssistantFilter { user_id: Some(user_id.clone()), ..AssistantFilter::default() };
        let assistants = whole(async move |after: Option<AssistantCursor>| {
            let page = store.list_assistants(scope, &theirs, BATCH, after.as_ref()).await?;
            Ok((page.assistants, page.next))
        });
        assistants.map_ok(|it| Record::Assistant { assistant: Box::new(it.into()) })
    }

    /// Reads the documents of the person, wherever they are.
    fn documents(&self) -> impl Stream<Item = Result<Record, StoreError>> {
        let theirs =
            DocumentFilter { user_id: Some(self.user_id.clone()), ..DocumentFilter::default() };
        self.documents_of(theirs, |_| true)
    }

    /// Reads the documents of a chat of the person, but for those that [`documents`](Self::documents) reads.
    fn documents_in(&self, chat_id: &ChatId) -> impl Stream<Item = Result<Record, StoreError>> {
        let of_chat =
            DocumentFilter { chat_id: Some(chat_id.clone()), ..DocumentFilter::default() };
        self.documents_of(of_chat, |head| head.binding.user_id.as_ref() != Some(&self.user_id))
    }

    fn documents_of(
        &self,
        filter: DocumentFilter,
        is_wanted: impl Fn(&DocumentHead) -> bool,
    ) -> impl Stream<Item = Result<Record, StoreError>> {
        let Self { store, scope, .. } = self;
        try_stream! {
            let mut heads = pin!(whole(async |after: Option<DocumentPath>| {
                let page = store.list_documents(scope, &filter, BATCH, after.as_ref()).await?;
                Ok((page.documents, page.next))
            }));
            while let Some((head, _)) = heads.try_next().await? {
                let mut offset = 0;
                while is_wanted(&head) {
                    let range = DocumentRange::From(offset, DOCUMENT_PART);
                    let part = store.read_document(scope, &head.path, range).await?;
                    let Some(DocumentContent { head, offset: from, content }) = part else { break };
                    offset = from + content.len() as u64;
                    let is_last = offset >= head.size;
                    let (document, content_base64) = (Box::new(head.into()), STANDARD.encode(content));
                    yield Record::Document { document, offset: from, content_base64 };
                    if is_last {
                        break;
                    }
                }
            }
        }
    }

    fn wallet(&self) -> impl Stream<Item = Result<Record, StoreError>> {
        let Self { store, scope, user_id } = self;
        try_stream! {
            let Some(wallet) = store.get_wallet(scope, user_id).await? else { return };
            yield Record::Wallet { wallet: wallet.into() };
            let mut entries = pin!(whole(async |before| {
                let page = store.list_wallet_entries(scope, user_id, BATCH, before).await?;
                Ok((page.entries, page.next))
            }));
            while let Some(entry) = entries.try_next().await? {
                yield Record::WalletEntry { entry: entry.into() };
            }
        }
    }
}

fn first_of(chat: ChatSession, is_theirs: bool) -> Record {
    if is_theirs {
        return Record::Chat { chat: Box::new(chat.into()) };
    }
    let ChatSession { chat_id, workflow_name, created_at, .. } = chat;
    Record::OtherChat { chat_id, workflow_name, created_at: created_at.into() }
}
