//! Erases a person from one chat.

use std::collections::{BTreeSet, HashMap};

use bson::{Bson, DateTime, Document, RawDocument, RawDocumentBuf, doc};
use chrono::{DateTime as Time, Utc};
use futures::future::ready;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use records::{AppId, ChatId, ErasedKind, InputRequestId, Lifecycle, Scope, UserId, WorkflowName};
use serde::Deserialize;

use super::messages::{Erasing, named_in};
use super::step_deadline;
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::CHAT_SESSIONS;
use crate::mongo::collections::{FORKED_FROM, MEMBERS_PATH, session_index};
use crate::mongo::documents::stored::read_document;
use crate::mongo::documents::{Base, LIFECYCLE, LIFECYCLE_AT, NEWEST_VERSION, erased_digest};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::hinted::SortedFind;
use crate::mongo::engine::scope::{chat_filter, chat_ids};
use crate::mongo::input_requests::push_recent_inputs;
use crate::mongo::purges::records_filter;
use crate::rules::erasure::{ERASED_NAME, Extent, Person};
use crate::store::SearchPosition;

/// How many chats are searched for forks at once.
const SOURCES: usize = 1_000;

/// How many forks of one chat are erased at once.
const FORKS_AT_ONCE: usize = 4;

/// The chats that name a person in the session or among the participants.
pub(super) type Naming = BTreeSet<ChatId>;

/// What was erased in a chat.
#[derive(Debug, Default)]
pub(super) struct ChatErasure {
    pub(super) erased: Vec<(ErasedKind, u64)>,
    /// Whether the chat was left as it is.
    pub(super) is_left: bool,
}

/// What an erasure reads of a session before it decides.
#[derive(Debug, Deserialize)]
pub(super) struct Candidate {
    #[serde(rename = "_id")]
    pub(super) chat_id: ChatId,
    workflow_name: WorkflowName,
    created_at: DateTime,
    pub(super) user_id: Option<UserId>,
    first_sequence: u64,
    revision: i64,
    input_version: Option<u64>,
    pub(super) forked_from: Option<Origin>,
    bases: Option<Vec<Base>>,
    #[serde(default)]
    hold: Option<Document>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Origin {
    pub(super) chat_id: ChatId,
    pub(super) sequence: u64,
}

/// A fork of a chat, or of one of its forks.
struct Descendant {
    chat_id: ChatId,
    /// What it has taken over from the chat.
    inherited: Extent,
    is_held: bool,
}

/// Up to where forks of a chat may have taken over messages of the chat that is searched for.
#[derive(Debug, Clone, Copy)]
struct Reach {
    end: u64,
    /// When the first fork was made, on the way from the chat to this one. Later edits are not from the chat.
    forked_at: Option<DateTime>,
}

impl Candidate {
    /// Returns the sequence of the first message that is not from a source of the chat.
    pub(super) fn start(&self) -> u64 {
        self.forked_from.as_ref().map_or(0, |origin| origin.sequence)
    }

    /// Returns what is from the chat, in it and in a chat of this reach.
    fn own(&self, Reach { end, forked_at }: Reach) -> Extent {
        let until = forked_at.map_or(Time::<Utc>::MAX_UTC, DateTime::to_chrono);
        Extent::Own { span: self.start()..end, edited: self.created_at.to_chrono()..=until }
    }

    /// Returns the chats whose sealed messages the chat shares.
    pub(super) fn bases(&self) -> &[Base] {
        self.bases.as_deref().unwrap_or_default()
    }

    /// Returns where a search goes on after the chat.
    pub(super) fn position(&self) -> SearchPosition {
        SearchPosition {
            workflow_name: self.workflow_name.clone(),
            created_at: self.created_at.to_chrono(),
            chat_id: self.chat_id.clone(),
        }
    }
}

/// Returns the ranges of chats after a position, in order, and how each is sorted: the rest of its moment, of its workflow, and
/// the other workflows. One query for all of them would read the chats before the position, too.
fn ranges_after(after: Option<&SearchPosition>) -> Vec<(Document, Document)> {
    let all = doc! { "workflow_name": 1, "created_at": -1, "_id": -1 };
    let Some(SearchPosition { workflow_name, created_at, chat_id }) = after else {
        return vec![(Document::new(), all)];
    };
    let (workflow, at) = (workflow_name.as_str(), DateTime::from_chrono(*created_at));
    let (created, chat_id) = (doc! { "$lt": at }, doc! { "$lt": chat_id.as_str() });
    vec![
        (doc! { "workflow_name": workflow, "created_at": at, "_id": chat_id }, doc! { "_id": -1 }),
        (
            doc! { "workflow_name": workflow, "created_at": created },
            doc! { "created_at": -1, "_id": -1 },
        ),
        (doc! { "workflow_name": { "$gt": workflow } }, all),
    ]
}

pub(super) fn candidate_projection() -> Document {
    doc! {
        "workflow_name": 1, "created_at": 1, "user_id": 1, "first_sequence": 1, "revision": 1,
        "input_version": 1, "forked_from": 1, "bases": 1, "hold": 1, "schema_version": 1,
    }
}

pub(super) fn candidate(raw: &RawDocument) -> Result<Candidate, StoreError> {
    read_document(CHAT_SESSIONS, raw)
}

impl MongoStore {
    /// Returns the next chats of an app, whatever their lifecycle, by workflow and creation, the newest first.
    ///
    /// A chat keeps its place in this order. Only chats of the app are read, however many other apps have.
    pub(super) async fn chats_after(
        &self,
        app_id: &AppId,
        after: Option<&SearchPosition>,
        limit: usize,
    ) -> Result<Vec<Candidate>, StoreError> {
        self.read(|| async {
            let mut found = Vec::new();
            for (after, sort) in ranges_after(after) {
                let find = SortedFind {
                    filter: with(doc! { "app_id": app_id.as_str() }, after),
                    sort,
                    index: session_index("cs_app_workflow_created"),
                    limit: limit - found.len(),
                    projection: candidate_projection(),
                };
                found.extend(find.read(&self.inner.chat_sessions).await?);
                if found.len() >= limit {
                    break;
                }
            }
            Ok(found.iter().map(|raw| candidate(raw)).collect::<Result<_, _>>()?)
        })
        .await
    }

    /// Erases a person from a chat, unless it is under hold. Returns what was erased, or left.
    pub(super) async fn erase_in_chat(
        &self,
        person: &Person,
        app_id: &AppId,
        chat: &Candidate,
        naming: &Naming,
    ) -> Result<ChatErasure, StoreError> {
        let mut erasure = ChatErasure::default();
        if !self.read(|| self.concerns(&person.user_id, app_id, chat, naming)).await? {
            return Ok(erasure);
        }
        if self.read(|| self.is_left(app_id, chat)).await? {
            erasure.is_left = true;
            return Ok(erasure);
        }
        if chat.user_id.as_ref() == Some(&person.user_id) {
            self.erase_own_chat(person, app_id, chat, &mut erasure).await?;
            return Ok(erasure);
        }
        let chat_id = &chat.chat_id;
        let erasing = Erasing { person, app_id, chat_id, extent: Extent::Written };
        let written = self.write_until(step_deadline(), |_| self.erase_messages(&erasing));
        erasure.erased.push((ErasedKind::Messages, written.await?));
        let names =
            self.write_until(self.deadline(), |_| self.erase_names(person, app_id, chat_id));
        erasure.erased.extend(names.await?);
        Ok(erasure)
    }

    /// Returns whether an erasure leaves a chat as it is: it is under hold, or a fork under hold shows it.
    async fn is_left(&self, app_id: &AppId, chat: &Candidate) -> Result<bool, Failure> {
        let forks = self.descendants(app_id, chat).await?;
        Ok(chat.hold.is_some() || forks.iter().any(|fork| fork.is_held))
    }

    /// Returns which of these chats an erasure leaves as they are.
    pub(super) async fn left_chats(
        &self,
        app_id: &AppId,
        chat_ids: &BTreeSet<ChatId>,
    ) -> Result<Vec<ChatId>, StoreError> {
        let mut left = Vec::new();
        for chat_id in chat_ids {
            let is_left = || async {
                let find = self.inner.chat_sessions.find_one(chat_filter(app_id, chat_id));
                match find.projection(candidate_projection()).await? {
                    Some(raw) => self.is_left(app_id, &candidate(&raw)?).await,
                    None => Ok(false),
                }
            };
            if self.read(is_left).await? {
                left.push(chat_id.clone());
            }
        }
        Ok(left)
    }

    /// Erases a chat of the person, as it is and as its forks show it.
    ///
    /// It is deleted first, so that nothing more is appended to it and no fork of it is made any more. It remains the person's
    /// until it is purged, so that an erasure that breaks off finds it again.
    async fn erase_own_chat(
        &self,
        person: &Person,
        app_id: &AppId,
        chat: &Candidate,
        erasure: &mut ChatErasure,
    ) -> Result<(), StoreError> {
        let chat_id = &chat.chat_id;
        let closing =
            self.write_until(self.deadline(), |_| self.close_chat(person, app_id, chat_id));
        if !closing.await? {
            // It was put under hold a moment ago.
            erasure.is_left = true;
            return Ok(());
        }
        let inherited = self.erase_inherited(person, app_id, chat).await?;
        erasure.erased.push((ErasedKind::Messages, inherited));
        let scope = Scope::service(app_id.clone());
        match self.purge(&scope.actor(), &scope, chat_id, None).await {
            // Not if another process was faster.
            Ok(is_purged) => erasure.erased.push((ErasedKind::Chats, is_purged.into())),
            // Its document was removed from the database by hand.
            Err(StoreError::ChatNotFound(_)) => {}
            Err(StoreError::ChatHeld(_)) => erasure.is_left = true,
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Erases what forks have taken over from a closed chat of the person. Returns how many messages of forks.
    ///
    /// Forks of the forks may be made meanwhile, of what these had before. So they are searched until there is no new one: a fork
    /// of one that was erased has nothing.
    async fn erase_inherited(
        &self,
        person: &Person,
        app_id: &AppId,
        chat: &Candidate,
    ) -> Result<u64, StoreError> {
        let (mut done, mut erased) = (BTreeSet::new(), 0);
        loop {
            let mut forks = self.read(|| self.descendants(app_id, chat)).await?;
            forks.retain(|fork| !done.contains(&fork.chat_id));
            if forks.is_empty() {
                return Ok(erased);
            }
            if done.is_empty() {
                let own = chat.own(Reach { end: u64::MAX, forked_at: None });
                self.erase_own(person, app_id, &chat.chat_id, own).await?;
            }
            done.extend(forks.iter().map(|fork| fork.chat_id.clone()));
            let erase = |fork| self.erase_in_fork(person, app_id, fork);
            let erasing = stream::iter(forks).map(erase).buffer_unordered(FORKS_AT_ONCE);
            let sum = |sum, count| ready(Ok(sum + count));
            erased = erasing.try_fold(erased, sum).await?;
        }
    }

    /// Erases what a fork has taken over; returns how many messages.
    async fn erase_in_fork(
        &self,
        person: &Person,
        app_id: &AppId,
        fork: Descendant,
    ) -> Result<u64, StoreError> {
        let Descendant { chat_id: fork, inherited, .. } = fork;
        let erased = self.erase_own(person, app_id, &fork, inherited).await?;
        let forget = |_| self.forget_inherited_state(app_id, &fork);
        self.write_until(self.deadline(), forget).await?;
        Ok(erased)
    }

    async fn erase_own(
        &self,
        person: &Person,
        app_id: &AppId,
        chat_id: &ChatId,
        extent: Extent,
    ) -> Result<u64, StoreError> {
        let own = Erasing { person, app_id, chat_id, extent };
        self.write_until(step_deadline(), |_| self.erase_messages(&own)).await
    }

    /// Deletes a chat; returns whether it is deleted now, and under no hold.
    async fn close_chat(
        &self,
        person: &Person,
        app_id: &AppId,
        chat_id: &ChatId,
    ) -> Result<bool, Failure> {
        let open = doc! {
            "user_id": person.user_id.as_str(),
            "hold": Bson::Null,
            LIFECYCLE: { "$not": { "$gte": Lifecycle::Deleted.number() } },
            "schema_version": { "$lte": NEWEST_VERSION },
        };
        let close = doc! {
            "$set": {
                LIFECYCLE: Lifecycle::Deleted.number(),
                LIFECYCLE_AT: DateTime::from_chrono(person.now),
                "lease": Bson::Null,
            },
            "$inc": { "session_version": 1_i64 },
            "$max": { "schema_version": Shape::DeletedChats.format() },
        };
        let open = with(chat_filter(app_id, chat_id), open);
        self.inner.chat_sessions.update_one(open, close).await?;
        self.inner.chat_cache.forget_tail(chat_id);
        self.inner.chains.forget_chat(chat_id);
        let closed = doc! {
            "hold": Bson::Null,
            LIFECYCLE: { "$gte": Lifecycle::Deleted.number() },
        };
        let closed = with(chat_filter(app_id, chat_id), closed);
        let found = self.inner.chat_sessions.find_one(closed).projection(doc! { "_id": 1 });
        Ok(found.await?.is_some())
    }

    /// Finds which of some chats name a person in the session or among the participants.
    pub(super) async fn chats_naming(
        &self,
        user_id: &UserId,
        app_id: &AppId,
        chats: &[Candidate],
    ) -> Result<Naming, Failure> {
        let user_id = user_id.as_str();
        let ids: Vec<&str> = chats.iter().map(|chat| chat.chat_id.as_str()).collect();
        let these = || doc! { "_id": { "$in": &ids }, "app_id": app_id.as_str() };
        let mut named = named_in("messages", user_id);
        let fields = [MEMBERS_PATH, "updated_by"];
        let others = fields.map(|field| Bson::from(doc! { field: user_id }));
        if let Ok(any) = named.get_array_mut("$or") {
            any.extend(others);
        }
        let sessions = self.inner.chat_sessions.find(with(these(), named));
        let participant = with(these(), doc! { "participants.user_id": user_id });
        let participants = self.inner.chat_participants.find(participant);
        let mut naming = Naming::new();
        for found in [sessions, participants] {
            let found: Vec<RawDocumentBuf> =
                found.projection(doc! { "_id": 1 }).await?.try_collect().await?;
            naming.extend(chat_ids(&found));
        }
        Ok(naming)
    }

    /// Returns whether anything of a person is in a chat.
    pub(super) async fn concerns(
        &self,
        user_id: &UserId,
        app_id: &AppId,
        chat: &Candidate,
        naming: &Naming,
    ) -> Result<bool, Failure> {
        if chat.user_id.as_ref() == Some(user_id) || naming.contains(&chat.chat_id) {
            return Ok(true);
        }
        let (user_id, chat_id) = (user_id.as_str(), &chat.chat_id);
        let of_chat = || records_filter(app_id, chat_id);
        let only_id = || doc! { "_id": 1 };
        let sealed = with(of_chat(), named_in("messages", user_id));
        if chat.first_sequence > 0
            && self.inner.chat_segments.find_one(sealed).projection(only_id()).await?.is_some()
        {
            return Ok(true);
        }
        let version = with(of_chat(), named_in("message", user_id));
        if chat.revision > 0
            && self.inner.message_versions.find_one(version).projection(only_id()).await?.is_some()
        {
            return Ok(true);
        }
        let answer = with(of_chat(), doc! { ANSWERED_BY: user_id });
        let inputs = &self.inner.input_requests;
        Ok(chat.input_version.is_some_and(|version| version > 0)
            && inputs.find_one(answer).projection(only_id()).await?.is_some())
    }

    /// Returns the forks of a chat, and their forks, that have taken over messages which are not from a source of the chat.
    async fn descendants(
        &self,
        app_id: &AppId,
        chat: &Candidate,
    ) -> Result<Vec<Descendant>, Failure> {
        let mut found: Vec<Descendant> = Vec::new();
        // The chats whose forks are not found yet.
        let all = Reach { end: u64::MAX, forked_at: None };
        let mut sources = vec![(chat.chat_id.clone(), all)];
        while !sources.is_empty() {
            let next = sources.split_off(sources.len().saturating_sub(SOURCES));
            let of: HashMap<ChatId, Reach> = next.into_iter().collect();
            let ids: Vec<&str> = of.keys().map(ChatId::as_str).collect();
            let forks = doc! { FORKED_FROM: { "$in": ids }, "app_id": app_id.as_str() };
            let forks = self.inner.chat_sessions.find(forks).projection(candidate_projection());
            let mut forks = forks.await?;
            while let Some(raw) = forks.try_next().await? {
                let fork = candidate(&raw)?;
                let Some(origin) = &fork.forked_from else { continue };
                let Some(source) = of.get(&origin.chat_id) else { continue };
                let reach = Reach {
                    end: source.end.min(origin.sequence),
                    forked_at: source.forked_at.or(Some(fork.created_at)),
                };
                let (chat_id, is_held) = (fork.chat_id, fork.hold.is_some());
                sources.push((chat_id.clone(), reach));
                found.push(Descendant { chat_id, inherited: chat.own(reach), is_held });
            }
        }
        Ok(found)
    }

    /// Erases the answers and the names of a person in a chat of others.
    async fn erase_names(
        &self,
        person: &Person,
        app_id: &AppId,
        chat_id: &ChatId,
    ) -> Result<Vec<(ErasedKind, u64)>, Failure> {
        let (user_id, alias) = (person.user_id.as_str(), person.alias.as_str());
        let one = || chat_filter(app_id, chat_id);
        let answers = with(records_filter(app_id, chat_id), doc! { ANSWERED_BY: user_id });
        let erased = doc! {
            "answer.content": Bson::Null,
            "answer.name": ERASED_NAME,
            ANSWERED_BY: alias,
            "answer.author.display_name": Bson::Null,
            "answer.digest": erased_digest(),
        };
        let inputs = &self.inner.input_requests;
        let found = inputs.find(answers.clone()).projection(doc! { "_id": 1 }).await?;
        let found: Vec<RawDocumentBuf> = found.try_collect().await?;
        let answered = found.iter().filter_map(|raw| {
            let id = raw.get_document("_id").ok()?.get_str("request_id").ok()?;
            InputRequestId::parse(id).ok()
        });
        let answered: Vec<InputRequestId> = answered.collect();
        let answers = inputs.update_many(answers, doc! { "$set": erased }).await?;
        if !answered.is_empty() {
            // Services read these again.
            let tell = push_recent_inputs(&answered);
            self.inner.chat_sessions.update_one(one(), tell).await?;
            self.notify_change(chat_id);
        }
        let participant = with(one(), doc! { "participants.user_id": user_id });
        let rename = doc! { "$set": {
            "participants.$[one].user_id": alias,
            "participants.$[one].display_name": Bson::Null,
        } };
        let these = doc! { "one.user_id": user_id };
        let participants = &self.inner.chat_participants;
        let participants =
            participants.update_one(participant, rename).array_filters([these]).await?;
        let sessions = &self.inner.chat_sessions;
        let member = with(one(), doc! { MEMBERS_PATH: user_id });
        let remove = doc! { "$pull": { "members": { "user_id": user_id } } };
        let members = sessions.update_one(member, remove).await?;
        let updated = with(one(), doc! { "updated_by": user_id });
        sessions.update_one(updated, doc! { "$set": { "updated_by": alias } }).await?;
        Ok(vec![
            (ErasedKind::Answers, answers.modified_count),
            (ErasedKind::Participants, participants.modified_count),
            (ErasedKind::Members, members.modified_count),
        ])
    }
}

/// The path to the person who answered a question.
const ANSWERED_BY: &str = "answer.author.user_id";

pub(super) fn with(mut filter: Document, condition: Document) -> Document {
    filter.extend(condition);
    filter
}
