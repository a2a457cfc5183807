use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use chrono::Utc;
use mongodb::options::ReturnDocument;
use records::{AuditAction, ChatId, ChatSession, ChatStatus, Lease, NewLease, Scope};

use crate::StoreError;
use crate::metrics::Call;
use crate::metrics::Sweep;
use crate::mongo::MongoStore;
use crate::mongo::chat_sessions::without_large_fields;
use crate::mongo::documents::{
    AcquisitionDocument, LeaseDocument, NEWEST_LEASE, NEWEST_VERSION, acquisition_record,
    chat_session_record, counter, embedded, lease_record, open_chat_session, read_status,
};
use crate::mongo::engine::calls::Attempt;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::scope::writable_chat;
use crate::mongo::engine::sweep::Overdue;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::rules::audit::Audited;
use crate::rules::fence::check_fence;
use crate::rules::lease::LeaseState;
use crate::rules::new_chat::moved;
use crate::store::{Interrupted, Leases, Written};

#[async_trait]
impl Leases for MongoStore {
    async fn acquire_lease(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        lease: NewLease,
    ) -> Result<Written<Lease>, StoreError> {
        self.observe(Call::AcquireLease, Some(chat_id), async {
            // All attempts use the same id, so that a retry recognises the lease that an earlier
            // attempt acquired.
            let lease = lease.into_lease(0, self.inner.clock.now(), &*self.inner.ids)?;
            // A caller that acquires a lease need not hold one.
            let (scope, chat_id) = (scope.unfenced(), chat_id.clone());
            self.write(|call| async move {
                call.attempt(|attempt| call.acquire(attempt, &scope, &chat_id, &lease)).await
            })
            .await
        })
        .await
    }

    async fn renew_lease(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fencing_token: u64,
        ttl: Duration,
    ) -> Result<Lease, StoreError> {
        self.observe(Call::RenewLease, Some(chat_id), async {
            let expires_at = Lease::expiry(self.inner.clock.now(), ttl)?;
            let (scope, chat_id) = (scope.clone().fenced(fencing_token), chat_id.clone());
            self.write(|call| async move {
                call.attempt(|_| call.renew(&scope, &chat_id, expires_at)).await
            })
            .await
        })
        .await
    }

    async fn release_lease(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fencing_token: u64,
    ) -> Result<(), StoreError> {
        self.observe(Call::ReleaseLease, Some(chat_id), async {
            let (scope, chat_id) = (scope.clone().fenced(fencing_token), chat_id.clone());
            self.write(|call| async move { call.attempt(|_| call.release(&scope, &chat_id)).await })
                .await
        })
        .await
    }

    async fn revoke_lease(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        acquired_at: chrono::DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.observe(Call::RevokeLease, Some(chat_id), async {
            let (scope, chat_id) = (scope.unfenced(), chat_id.clone());
            self.write(|call| async move {
                let round = |tx| call.revoke_lease_round(tx, &scope, &chat_id, acquired_at);
                call.transact(&scope, &chat_id, round).await
            })
            .await
        })
        .await
    }

    async fn interrupt_abandoned(&self, limit: usize) -> Result<Vec<Interrupted>, StoreError> {
        self.observe(Call::InterruptAbandoned, None, async {
            let now = DateTime::from_chrono(self.inner.clock.now());
            let abandoned = Overdue {
                sweep: Sweep::Leases,
                collection: &self.inner.chat_sessions,
                filter: doc! {
                    "status": ChatStatus::Running.number(),
                    "lease.expires_at": { "$lte": now },
                    "schema_version": { "$lte": NEWEST_VERSION },
                },
                index: doc! { "status": 1, "lease.expires_at": 1 },
                projection: without_large_fields(),
            };
            let interrupted = Mutex::new(Vec::new());
            let interrupt = |raw: RawDocumentBuf| async {
                let raw = raw;
                let chat = chat_session_record(&raw)?;
                let ChatSession { app_id, chat_id, lease, .. } = chat.clone();
                let interrupting = self.write(|call| async move {
                    let scope = Scope::service(chat.app_id.clone());
                    let round = |tx| call.interrupt_round(tx, &scope, &chat);
                    let is_interrupted = call.transact(&scope, &chat.chat_id, round).await?;
                    if is_interrupted {
                        call.notify_change(&chat.chat_id);
                    }
                    Ok(is_interrupted)
                });
                let is_interrupted = interrupting.await?;
                let lease = lease.filter(|_| is_interrupted);
                let this = lease.map(|lease| Interrupted { app_id, chat_id, lease });
                interrupted.lock().unwrap_or_else(PoisonError::into_inner).extend(this);
                Ok(is_interrupted)
            };
            self.sweep(&abandoned, limit, interrupt).await?;
            Ok(interrupted.into_inner().unwrap_or_else(PoisonError::into_inner))
        })
        .await
    }
}

fn lease_state(raw: &RawDocumentBuf) -> Result<LeaseState, StoreError> {
    let fields = open_chat_session(raw)?;
    let [lease, newest] = ["lease", NEWEST_LEASE].map(|name| fields.optional_document(name));
    Ok(LeaseState {
        status: read_status(&fields.field("status")?)?,
        lease: lease?.map(|lease| lease_record(&fields.inside(lease))).transpose()?,
        fencing_token: fields.field("fencing_token")?.optional_number()?.unwrap_or_default(),
        newest: newest?.map(|newest| acquisition_record(&fields.inside(newest))).transpose()?,
    })
}

fn lease_projection() -> Document {
    doc! { "lease": 1, "fencing_token": 1, NEWEST_LEASE: 1, "status": 1, "schema_version": 1 }
}

impl MongoStore {
    async fn acquire(
        &self,
        attempt: Attempt,
        scope: &Scope,
        chat_id: &ChatId,
        wanted: &Lease,
    ) -> Result<Written<Lease>, Failure> {
        loop {
            let raw = self.session_within(scope, chat_id, lease_projection()).await?;
            let state = lease_state(&raw)?;
            let acquisition = wanted.acquisition();
            if let Some(held) = state.repeated(chat_id, &acquisition, self.inner.clock.now())? {
                return Ok(Written::found(held, attempt.may_have_applied()));
            }
            let LeaseState { status, lease, fencing_token, .. } = state;
            let mut filter = writable_chat(scope, chat_id);
            filter.insert("status", status.number());
            filter.insert("fencing_token", same_number(fencing_token));
            match lease {
                // The update must not match if the owner renews the lease at the same time.
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
                "lease": embedded(&LeaseDocument::from(&given))?,
                "fencing_token": counter(given.fencing_token),
                NEWEST_LEASE: embedded(&AcquisitionDocument::from(acquisition))?,
            } };
            let update = self.inner.chat_sessions.update_one(filter, update);
            if update.await?.matched_count == 1 {
                return Ok(Written::stored(given));
            }
        }
    }

    async fn renew(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        expires_at: chrono::DateTime<Utc>,
    ) -> Result<Lease, Failure> {
        let set = doc! { "$set": { "lease.expires_at": DateTime::from_chrono(expires_at) } };
        let sessions = &self.inner.chat_sessions;
        let renew = sessions.find_one_and_update(writable_chat(scope, chat_id), set);
        let renew = renew.projection(lease_projection()).return_document(ReturnDocument::After);
        let state = renew.await?.map(|raw| lease_state(&raw)).transpose()?;
        match state.and_then(|state| state.lease) {
            Some(lease) => Ok(lease),
            None => Err(self.classify_unmatched(scope, chat_id).await?),
        }
    }

    /// Releases a lease, unless it is gone.
    async fn release(&self, scope: &Scope, chat_id: &ChatId) -> Result<(), Failure> {
        let sessions = &self.inner.chat_sessions;
        let release = doc! { "$set": { "lease": Bson::Null } };
        let release = sessions.update_one(writable_chat(scope, chat_id), release);
        if release.await?.matched_count == 1 {
            return Ok(());
        }
        match self.classify_unmatched(scope, chat_id).await? {
            Failure::Decided(StoreError::Fenced { .. }) => Ok(()),
            failure => Err(failure),
        }
    }

    /// Takes a lease from its holder, unless it is gone.
    async fn revoke_lease_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        acquired_at: chrono::DateTime<Utc>,
    ) -> Result<Round<()>, Failure> {
        let raw = self.session_within(scope, chat_id, lease_projection()).await?;
        let held = lease_state(&raw)?.lease;
        let Some(lease) = held.filter(|lease| lease.acquired_at == acquired_at) else {
            return Ok(Round::Done(()));
        };
        let audited = Audited::in_scope(scope, Some(chat_id), AuditAction::RevokeLease);
        let entry = self.audit_document(&audited).await?;
        tx.begin().await?;
        let held = writable_chat(&scope.clone().fenced(lease.fencing_token), chat_id);
        let take = doc! { "$set": { "lease": Bson::Null } };
        let take = self.inner.chat_sessions.update_one(held, take);
        if take.session(&mut *tx.session().await?).await?.matched_count == 0 {
            return Ok(Round::Again);
        }
        self.insert_audit_document(&tx, &entry).await?;
        Ok(Round::Done(()))
    }

    /// Interrupts a chat if its lease has not changed. Returns whether it did.
    async fn interrupt_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat: &ChatSession,
    ) -> Result<Round<bool>, Failure> {
        let Some(lease) = &chat.lease else { return Ok(Round::Done(false)) };
        if !tx.is_first() {
            let now = self.get_chat_within(scope, &chat.chat_id).await?;
            if now.is_none_or(|now| now.status != chat.status || now.lease != chat.lease) {
                return Ok(Round::Done(false));
            }
        }
        let mut abandoned =
            writable_chat(&scope.clone().fenced(lease.fencing_token), &chat.chat_id);
        abandoned.insert("lease.expires_at", DateTime::from_chrono(lease.expires_at));
        tx.begin_counted(chat).await?;
        let take = doc! { "$set": { "lease": Bson::Null } };
        let take = self.inner.chat_sessions.update_one(abandoned, take);
        if take.session(&mut *tx.session().await?).await?.matched_count == 0 {
            return Ok(Round::Done(false));
        }
        let reason = Some(Interrupted::PAUSE_REASON);
        let paused = moved(chat, ChatStatus::Paused, reason, self.inner.clock.now());
        let change_id = self.inner.ids.mint("change_");
        // `None` means that the chat no longer runs; then its lease must stay as well.
        let moved = self.change_status_within(&tx, scope, chat, &paused, &change_id).await?;
        Ok(Round::of(moved.map(|_| true)))
    }

    /// Refuses a write under a lease that is gone, after its update matched nothing.
    pub(crate) async fn check_fence(&self, scope: &Scope, chat_id: &ChatId) -> Result<(), Failure> {
        if scope.fencing_token.is_none() {
            return Ok(());
        }
        let raw = self.session_within(scope, chat_id, lease_projection()).await?;
        let held = lease_state(&raw)?.lease.map(|lease| lease.fencing_token);
        Ok(check_fence(chat_id, scope.fencing_token, held)?)
    }

    /// Returns the result of a write, or `Fenced` if the write conflicts and its lease is gone.
    pub(crate) async fn fenced_if_lease_lost<T>(
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

/// Returns the condition for a counter. A counter of 0 may be missing.
pub(crate) fn same_number(number: u64) -> Bson {
    match number {
        0 => doc! { "$in": [0_i64, Bson::Null] }.into(),
        number => counter(number).into(),
    }
}
