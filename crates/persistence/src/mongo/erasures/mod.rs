//! Erases persons, step by step (decision 0053).
//!
//! The record of an erasure says how far it has come. Every step is safe to repeat, so that any process may go on after any
//! other, or beside it.

mod chats;
mod inherited;
mod messages;
mod shown;
mod user;

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;
use bson::{Bson, DateTime, Document, RawDocument, RawDocumentBuf, doc};
use futures::future::ready;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use records::{Actor, AppId, AuditAction, ChatId, Erasure, Pseudonym, UserId, WorkflowName};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use self::chats::Candidate;
use self::shown::NamedByChat;
use crate::StoreError;
use crate::metrics::{Call, RetentionAction};
use crate::mongo::MongoStore;
use crate::mongo::collection_names::ERASURES;
use crate::mongo::documents::stored::{FieldError, read_record};
use crate::mongo::documents::{SCHEMA_VERSION, counter, encode};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::inserts::insert_or_get;
use crate::mongo::engine::marks::with_mark;
use crate::mongo::engine::transaction::Round;
use crate::rules::audit::Audited;
use crate::rules::erasure::{Person, ended};
use crate::store::{Erasures, PersonChat, PersonChats, SearchPosition};

/// The field that only unfinished erasures have.
pub(crate) const ERASED_USER: &str = "user_id";

/// The field of the place that says whether a pass has found anything.
const HAS_FOUND: &str = "has_found";

/// The field of the place with the position of the last chat, and the id of that chat.
const POSITION: &str = "position";
const POSITION_CHAT: &str = "position.chat_id";

/// How often all chats are searched at least. A call that was under way during the first search may have stored a record
/// behind it.
const PASSES: u32 = 2;

/// How often they are searched at most, if each search finds something: a fork that is made during a search may be behind it.
const MAX_PASSES: u32 = 8;

/// How many chats are searched at once. Much of the time is waiting until a write is durable.
const CHATS_AT_ONCE: usize = 4;

/// After how long a step begins no more chats, so that its place is recorded often and other erasures have their turn.
const STEP_TIME: Duration = Duration::from_secs(2);

#[async_trait]
impl Erasures for MongoStore {
    async fn begin_erasure(
        &self,
        actor: &Actor,
        app_id: &AppId,
        user_id: &UserId,
    ) -> Result<Erasure, StoreError> {
        self.observe(Call::BeginErasure, None, async {
            let action = AuditAction::EraseUser;
            let audited = Audited::of_operator(actor, Some(app_id), None, action).about(user_id);
            let (app_id, user_id) = (app_id.clone(), user_id.clone());
            let (now, entry_id) = (self.inner.clock.now(), self.mint_audit_id());
            self.write(|call| async move {
                call.transact_without_chat(|tx| {
                    let (call, audited, entry_id) = (&call, &audited, &entry_id);
                    let (app_id, user_id) = (&app_id, &user_id);
                    async move {
                        call.require(Shape::DeletedChats).await?;
                        let id = entry_id.clone();
                        let entry = call.audit_document_with_id(audited, id).await?;
                        let pseudonym = call.pseudonym(Some(app_id), user_id).await?;
                        let begun = Erasure::begin(app_id.clone(), user_id.clone(), pseudonym, now);
                        let document = encode(&ErasureDocument::new(&begun))?;
                        let find = || call.find_erasure(app_id, pseudonym);
                        let erasures = &call.inner.erasures;
                        let found = insert_or_get(erasures, &document, find).await?;
                        let begun = found.map_or(begun, |stored| stored.erasure);
                        // Only the entry tells whether an earlier attempt was committed.
                        if !tx.is_first() && call.has_audit_entry(entry_id).await? {
                            return Ok(Round::Done(begun));
                        }
                        tx.begin().await?;
                        call.insert_audit_document(&tx, &entry).await?;
                        Ok(Round::Done(begun))
                    }
                })
                .await
            })
            .await
        })
        .await
    }

    async fn continue_erasure(
        &self,
        app_id: &AppId,
        pseudonym: Pseudonym,
        limit: usize,
    ) -> Result<Option<Erasure>, StoreError> {
        self.observe(Call::ContinueErasure, None, async {
            let found = self.read(|| self.find_erasure(app_id, pseudonym)).await?;
            let Some(StoredErasure { erasure, place }) = found else { return Ok(None) };
            match erasure.user_id.clone() {
                None => Ok(Some(erasure)),
                Some(user_id) => {
                    let erasure = self.erase_step(erasure, place, user_id, limit).await?;
                    if erasure.finished_at.is_some() {
                        self.inner.metrics.retention.did(RetentionAction::EraseUser, 1);
                    }
                    Ok(Some(erasure))
                }
            }
        })
        .await
    }

    async fn get_erasure(
        &self,
        app_id: &AppId,
        pseudonym: Pseudonym,
    ) -> Result<Option<Erasure>, StoreError> {
        self.observe(Call::GetErasure, None, async {
            let found = self.read(|| self.find_erasure(app_id, pseudonym)).await?;
            Ok(found.map(|stored| stored.erasure))
        })
        .await
    }

    async fn unfinished_erasures(&self, limit: usize) -> Result<Vec<Erasure>, StoreError> {
        self.observe(Call::UnfinishedErasures, None, self.read(|| self.erasures_under_way(limit)))
            .await
    }

    async fn find_chats_of(
        &self,
        app_id: &AppId,
        user_id: &UserId,
        after: Option<&SearchPosition>,
        limit: usize,
    ) -> Result<PersonChats, StoreError> {
        self.observe(Call::FindChatsOf, None, async {
            let chats = self.chats_after(app_id, after, limit).await?;
            let (mut found, mut known) = (Vec::new(), NamedByChat::new());
            let naming = self.read(|| self.chats_naming(user_id, app_id, &chats)).await?;
            for chat in &chats {
                let inherited = self.read(|| self.inherited_from(user_id, app_id, chat)).await?;
                if !inherited.is_empty()
                    || self.read(|| self.concerns(user_id, app_id, chat, &naming)).await?
                    || self.shares_named(user_id, app_id, chat, &mut known).await?
                {
                    found.push(PersonChat { chat_id: chat.chat_id.clone(), inherited });
                }
            }
            let last = chats.last().map(Candidate::position);
            Ok(PersonChats { found, searched: chats.len() as u64, last })
        })
        .await
    }
}

impl MongoStore {
    pub(crate) async fn erasures_under_way(&self, limit: usize) -> Result<Vec<Erasure>, Failure> {
        let unfinished = doc! { ERASED_USER: { "$exists": true } };
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let found = self.inner.erasures.find(unfinished).limit(limit).await?;
        let found: Vec<RawDocumentBuf> = found.try_collect().await?;
        let read = |raw: &RawDocumentBuf| Ok(erasure_record(raw)?.erasure);
        found.iter().map(read).collect()
    }

    async fn find_erasure(
        &self,
        app_id: &AppId,
        pseudonym: Pseudonym,
    ) -> Result<Option<StoredErasure>, Failure> {
        let found = self.inner.erasures.find_one(erasure_filter(app_id, pseudonym)).await?;
        Ok(found.map(|raw| erasure_record(&raw)).transpose()?)
    }

    /// Handles the next chats, or what follows after the last of them, and records it.
    async fn erase_step(
        &self,
        before: Erasure,
        place: Place,
        user_id: UserId,
        limit: usize,
    ) -> Result<Erasure, StoreError> {
        let person = Person::new(user_id, before.pseudonym, self.inner.clock.now())?;
        let mut erasure = before.clone();
        let app_id = erasure.app_id.clone();
        let chats = self.chats_after(&app_id, place.after.as_ref(), limit).await?;
        let mut next = place.clone();
        let mut is_done = false;
        if chats.is_empty() {
            self.erase_of_user(&person, &mut erasure).await?;
            next = Place { pass: place.pass + 1, after: None, has_found: false };
            is_done = next.pass >= PASSES && !place.has_found || next.pass == MAX_PASSES;
        }
        let naming = self.read(|| self.chats_naming(&person.user_id, &app_id, &chats)).await?;
        let begun = Instant::now();
        let (person, app_id, naming) = (&person, &app_id, &naming);
        let erase = |chat: Candidate| async move {
            let erased = self.erase_in_chat(person, app_id, &chat, naming).await?;
            Ok::<_, StoreError>((chat, erased))
        };
        let in_time = |_: &Candidate| ready(begun.elapsed() < STEP_TIME);
        let erasing = stream::iter(chats).take_while(in_time).map(erase);
        let mut erasing = erasing.buffered(CHATS_AT_ONCE);
        while let Some((chat, in_chat)) = erasing.try_next().await? {
            if in_chat.is_left {
                erasure.leave(&chat.chat_id);
            }
            in_chat.erased.into_iter().for_each(|(kind, count)| erasure.add(kind, count));
            erasure.searched += 1;
            next.after = Some(chat.position());
        }
        if is_done {
            self.delete_pseudonym_key(Some(app_id), &person.user_id).await?;
            erasure = ended(&erasure, self.inner.clock.now());
        }
        self.record_step(&before, &erasure, &place, &next).await
    }

    /// Stores what a step has erased and, unless another process has stored it first, how far the erasure has come.
    ///
    /// Each process adds what it has erased itself, whichever of them moves the place. What it has found makes another pass
    /// necessary even if another process ends this one first.
    async fn record_step(
        &self,
        before: &Erasure,
        erasure: &Erasure,
        from: &Place,
        to: &Place,
    ) -> Result<Erasure, StoreError> {
        let (app_id, pseudonym) = (&erasure.app_id, erasure.pseudonym);
        let one = erasure_filter(app_id, pseudonym);
        let mut found = one.clone();
        let held: Vec<&str> = erasure.held.iter().map(ChatId::as_str).collect();
        let mut add = doc! { "$addToSet": { "held": { "$each": held } } };
        // A kind that was never counted begins with what this step has found, also if that is nothing.
        let known = |kind: &str| before.erased.get(kind).copied();
        let counts = erasure.erased.iter().filter(|(kind, count)| known(kind) != Some(**count));
        let counts = counts.map(|(kind, count)| {
            let new = count - known(kind).unwrap_or_default();
            (format!("erased.{kind}"), Bson::from(counter(new)))
        });
        let counts: Document = counts.collect();
        let has_found =
            erasure.erased.iter().any(|(kind, count)| known(kind).unwrap_or(0) < *count);
        if has_found && from.pass == to.pass {
            add.insert("$set", doc! { HAS_FOUND: true });
        }
        if !counts.is_empty() {
            add.insert("$inc", counts);
        }
        with_mark(&self.inner.ids.mint("step_"), &mut found, &mut add);
        let mut at_place = one;
        at_place.insert("pass", from.pass);
        at_place.insert(POSITION_CHAT, from.after.as_ref().map(|after| after.chat_id.as_str()));
        let mut set = doc! {
            "searched": counter(erasure.searched),
            "pass": counter(to.pass.into()),
            "finished_at": erasure.finished_at.map(DateTime::from_chrono),
        };
        let mut gone = Document::new();
        match &to.after {
            Some(after) => drop(set.insert(POSITION, PositionDocument::new(after).document())),
            None => drop(gone.insert(POSITION, "")),
        }
        if from.pass != to.pass {
            // An earlier release searches in another order, and begins again, too.
            set.insert("after", Bson::Null);
            at_place.insert(HAS_FOUND, from.has_found.then_some(true));
            gone.insert(HAS_FOUND, "");
        }
        if erasure.user_id.is_none() {
            gone.insert(ERASED_USER, "");
        }
        let mut go_on = doc! { "$set": set };
        if !gone.is_empty() {
            go_on.insert("$unset", gone);
        }
        self.write_until(self.deadline(), |_| async {
            let erasures = &self.inner.erasures;
            erasures.update_one(found.clone(), add.clone()).await?;
            erasures.update_one(at_place.clone(), go_on.clone()).await?;
            let stored = self.find_erasure(app_id, pseudonym).await?;
            Ok(stored.map_or_else(|| erasure.clone(), |stored| stored.erasure))
        })
        .await
    }
}

/// Returns the deadline of work on all messages of a chat.
fn step_deadline() -> Instant {
    const STEP: Duration = Duration::from_mins(10);
    Instant::now() + STEP
}

/// Where an erasure goes on.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    /// How often all chats were searched.
    pass: u32,
    /// The position of the last chat that was searched in this pass.
    after: Option<SearchPosition>,
    /// Whether this pass has found anything.
    has_found: bool,
}

/// An erasure and its place.
#[derive(Debug)]
pub(crate) struct StoredErasure {
    erasure: Erasure,
    place: Place,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ErasureDocument {
    #[serde(rename = "_id")]
    id: ErasureKey,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_id: Option<UserId>,
    begun_at: DateTime,
    finished_at: Option<DateTime>,
    searched: u64,
    erased: BTreeMap<String, u64>,
    held: Vec<ChatId>,
    pass: u32,
    /// The place of earlier releases, which search in the order of ids.
    after: Option<ChatId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    position: Option<PositionDocument>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_found: bool,
    /// The marks of the newest steps, by which a retry recognises its own write.
    #[serde(default)]
    recent_writes: Vec<String>,
    schema_version: i64,
}

/// The position of a chat in a search.
#[derive(Debug, Serialize, Deserialize)]
struct PositionDocument {
    workflow_name: WorkflowName,
    created_at: DateTime,
    chat_id: ChatId,
}

impl PositionDocument {
    fn new(position: &SearchPosition) -> Self {
        Self {
            workflow_name: position.workflow_name.clone(),
            created_at: DateTime::from_chrono(position.created_at),
            chat_id: position.chat_id.clone(),
        }
    }

    fn document(&self) -> Document {
        doc! {
            "workflow_name": self.workflow_name.as_str(),
            "created_at": self.created_at,
            "chat_id": self.chat_id.as_str(),
        }
    }
}

impl From<PositionDocument> for SearchPosition {
    fn from(document: PositionDocument) -> Self {
        Self {
            workflow_name: document.workflow_name,
            created_at: document.created_at.to_chrono(),
            chat_id: document.chat_id,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct ErasureKey {
    app_id: AppId,
    pseudonym: String,
}

fn erasure_filter(app_id: &AppId, pseudonym: Pseudonym) -> Document {
    doc! { "_id": { "app_id": app_id.as_str(), "pseudonym": pseudonym.to_string() } }
}

impl ErasureDocument {
    /// Creates the document of a new erasure.
    fn new(erasure: &Erasure) -> Self {
        Self {
            id: ErasureKey {
                app_id: erasure.app_id.clone(),
                pseudonym: erasure.pseudonym.to_string(),
            },
            user_id: erasure.user_id.clone(),
            begun_at: DateTime::from_chrono(erasure.begun_at),
            finished_at: erasure.finished_at.map(DateTime::from_chrono),
            searched: erasure.searched,
            erased: erasure.erased.clone(),
            held: erasure.held.clone(),
            pass: 0,
            after: None,
            position: None,
            has_found: false,
            recent_writes: Vec::new(),
            schema_version: SCHEMA_VERSION,
        }
    }
}

impl TryFrom<ErasureDocument> for StoredErasure {
    type Error = FieldError;

    fn try_from(document: ErasureDocument) -> Result<Self, FieldError> {
        let pseudonym = document.id.pseudonym.parse();
        let erasure = Erasure {
            app_id: document.id.app_id,
            pseudonym: pseudonym.map_err(|_| FieldError::new("_id.pseudonym"))?,
            user_id: document.user_id,
            begun_at: document.begun_at.to_chrono(),
            finished_at: document.finished_at.map(DateTime::to_chrono),
            searched: document.searched,
            erased: document.erased,
            held: document.held,
        };
        let place = Place {
            pass: document.pass,
            after: document.position.map(SearchPosition::from),
            has_found: document.has_found,
        };
        Ok(Self { erasure, place })
    }
}

/// Reads an erasure.
pub(crate) fn erasure_record(raw: &RawDocument) -> Result<StoredErasure, StoreError> {
    read_record::<ErasureDocument, _>(ERASURES, raw)
}
