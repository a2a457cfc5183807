use std::time::Duration;

use async_trait::async_trait;
use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use futures::TryStreamExt;
use mongodb::options::ReturnDocument;
use records::{ChatId, ChatSession, ChatStatus, Lease, NewLease, Scope};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::chat_sessions::without_bulk;
use crate::mongo::documents::{
    SCHEMA_VERSION, chat_session_record, counter, lease_document, lease_record, open_chat_session,
    status_of,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::scope::writable_chat;
use crate::rules::fence::check_fence;
use crate::rules::new_chat::moved;
use crate::store::{Interrupted, Leases};

#[async_trait]
impl Leases for MongoStore {
    async fn acquire_lease(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        lease: NewLease,
    ) -> Result<Lease, StoreError> {
        // Who asks for a lease need not hold one.
        let scope = &scope.unfenced();
        // The id is the same in every attempt, so that one recognises what an earlier one was given.
        let lease = lease.given(0, self.inner.clock.now(), &*self.inner.ids)?;
        self.write(|_| self.acquire(scope, chat_id, &lease)).await
    }

    async fn renew_lease(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fencing_token: u64,
        ttl: Duration,
    ) -> Result<Lease, StoreError> {
        let expires_at = Lease::expiry(self.inner.clock.now(), ttl)?;
        let scope = &scope.clone().fenced(fencing_token);
        let set = doc! { "$set": { "lease.expires_at": DateTime::from_chrono(expires_at) } };
        self.write(|_| async {
            let sessions = &self.inner.chat_sessions;
            let renew = sessions.find_one_and_update(writable_chat(scope, chat_id), set.clone());
            let renew = renew.projection(held_projection());
            match renew.return_document(ReturnDocument::After).await? {
                Some(raw) => Held::read(&raw)?
                    .lease
                    .ok_or_else(|| StoreError::fenced(chat_id, fencing_token).into()),
                None => Err(self.why_not_writable(scope, chat_id).await?),
            }
        })
        .await
    }

    async fn release_lease(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fencing_token: u64,
    ) -> Result<(), StoreError> {
        let scope = &scope.clone().fenced(fencing_token);
        let release = doc! { "$set": { "lease": Bson::Null } };
        self.write(|_| async {
            let sessions = &self.inner.chat_sessions;
            let release = sessions.update_one(writable_chat(scope, chat_id), release.clone());
            if release.await?.matched_count == 1 {
                return Ok(());
            }
            match self.why_not_writable(scope, chat_id).await? {
                Failure::Decided(StoreError::Fenced { .. }) => Ok(()),
                failure => Err(failure),
            }
        })
        .await
    }

    async fn interrupt_abandoned(&self, limit: usize) -> Result<Vec<Interrupted>, StoreError> {
        let now = DateTime::from_chrono(self.inner.clock.now());
        let abandoned = || async {
            let query = doc! {
                "status": ChatStatus::Running.number(),
                "lease.expires_at": { "$lte": now },
                "schema_version": { "$lte": SCHEMA_VERSION },
            };
            let find = self.inner.chat_sessions.find(query).sort(doc! { "lease.expires_at": 1 });
            let find = find.limit(i64::try_from(limit).unwrap_or(i64::MAX));
            Ok(find.projection(without_bulk()).await?.try_collect::<Vec<RawDocumentBuf>>().await?)
        };
        let mut interrupted = Vec::new();
        for raw in self.read(abandoned).await? {
            // One that cannot be interrupted keeps none of the others from being.
            let chat = match chat_session_record(&raw) {
                Ok(chat) => chat,
                Err(error) => {
                    tracing::warn!(%error, "an abandoned chat cannot be read");
                    continue;
                }
            };
            match self.write(|_| self.interrupt(&chat)).await {
                Ok(is_interrupted) => {
                    let ChatSession { app_id, chat_id, lease, .. } = chat;
                    let lease = lease.filter(|_| is_interrupted);
                    interrupted.extend(lease.map(|lease| Interrupted { app_id, chat_id, lease }));
                }
                Err(error) if interrupted.is_empty() => return Err(error),
                Err(error) => {
                    tracing::warn!(%error, "an abandoned chat is left for later");
                    break;
                }
            }
        }
        Ok(interrupted)
    }
}

/// What is kept of the leases of a chat.
struct Held {
    status: ChatStatus,
    lease: Option<Lease>,
    /// The token of the newest lease there ever was; 0: there was none.
    fencing_token: u64,
}

impl Held {
    fn read(raw: &RawDocumentBuf) -> Result<Self, StoreError> {
        let fields = open_chat_session(raw)?;
        let lease = fields.optional_document("lease")?;
        Ok(Self {
            status: status_of(&fields.field("status")?)?,
            lease: lease.map(|lease| lease_record(&fields.inside(lease))).transpose()?,
            fencing_token: fields.field("fencing_token")?.optional_number()?.unwrap_or_default(),
        })
    }
}

fn held_projection() -> Document {
    doc! { "lease": 1, "fencing_token": 1, "status": 1, "schema_version": 1 }
}

impl MongoStore {
    async fn acquire(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        wanted: &Lease,
    ) -> Result<Lease, Failure> {
        loop {
            let raw = self.session_within(scope, chat_id, held_projection()).await?;
            let Held { status, lease, fencing_token } = Held::read(&raw)?;
            if status.is_ended() {
                return Err(StoreError::ChatEnded { chat_id: chat_id.clone(), status }.into());
            }
            let mut filter = writable_chat(scope, chat_id);
            filter.insert("status", status.number());
            filter.insert("fencing_token", same_number(fencing_token));
            match lease {
                Some(held) if !held.has_expired(self.inner.clock.now()) => {
                    if held.is_that_of(wanted) {
                        return Ok(held);
                    }
                    return Err(StoreError::held(chat_id, held).into());
                }
                // Unless its owner renews it just now.
                Some(held) => {
                    let expires_at = DateTime::from_chrono(held.expires_at);
                    filter.insert("lease.expires_at", expires_at);
                }
                None => {
                    filter.insert("lease", Bson::Null);
                }
            }
            let given = Lease { fencing_token: fencing_token + 1, ..wanted.clone() };
            let update = doc! { "$set": {
                "lease": lease_document(&given),
                "fencing_token": counter(given.fencing_token),
            } };
            let update = self.inner.chat_sessions.update_one(filter, update);
            if update.await?.matched_count == 1 {
                return Ok(given);
            }
        }
    }

    /// Interrupts a chat if nothing has happened to its lease; tells whether it did.
    async fn interrupt(&self, chat: &ChatSession) -> Result<bool, Failure> {
        let Some(lease) = &chat.lease else { return Ok(false) };
        let scope = Scope::service(chat.app_id.clone());
        let mut abandoned =
            writable_chat(&scope.clone().fenced(lease.fencing_token), &chat.chat_id);
        abandoned.insert("lease.expires_at", DateTime::from_chrono(lease.expires_at));
        let reason = Some(Interrupted::PAUSE_REASON);
        let mut from = 0;
        loop {
            let paused = moved(chat, ChatStatus::Paused, reason, self.inner.clock.now());
            let change_id = self.inner.ids.mint("change_");
            let stripe = self.stripe(&chat.app_id, &chat.workflow_name, from).await;
            let mut session = self.begin().await?;
            let work = async {
                let take = doc! { "$set": { "lease": Bson::Null } };
                let take = self.inner.chat_sessions.update_one(abandoned.clone(), take);
                if take.session(&mut session).await?.matched_count == 0 {
                    return Ok(Some(false));
                }
                let session = &mut session;
                let moving = self.move_within(&scope, chat, &paused, &change_id, &stripe, session);
                // None: it no longer runs, and then nothing is to become of its lease either.
                Ok(moving.await?.map(|_| true))
            };
            let worked = work.await;
            match self.conclude(session, worked).await? {
                Some(true) => {
                    self.tell_change(&chat.chat_id);
                    return Ok(true);
                }
                Some(false) => return Ok(false),
                None => {}
            }
            let now = self.get_chat_within(&scope, &chat.chat_id).await?;
            if now.is_none_or(|now| now.status != chat.status || now.lease != chat.lease) {
                return Ok(false);
            }
            from = stripe.number() + 1;
        }
    }

    /// Refuses a write under a lease that is gone, once it has found nothing to change.
    pub(crate) async fn check_fence(&self, scope: &Scope, chat_id: &ChatId) -> Result<(), Failure> {
        if scope.fencing_token.is_none() {
            return Ok(());
        }
        let raw = self.session_within(scope, chat_id, held_projection()).await?;
        let held = Held::read(&raw)?.lease.map(|lease| lease.fencing_token);
        Ok(check_fence(chat_id, scope.fencing_token, held)?)
    }

    /// Passes on what came of a write, or that it was fenced where it was refused for a conflict.
    pub(crate) async fn fenced_if_late<T>(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        written: Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if written.as_ref().is_err_and(StoreError::is_conflict) {
            self.read(|| self.check_fence(scope, chat_id)).await?;
        }
        written
    }
}

/// A counter that was never moved may be missing.
fn same_number(number: u64) -> Bson {
    match number {
        0 => doc! { "$in": [0_i64, Bson::Null] }.into(),
        number => counter(number).into(),
    }
}
