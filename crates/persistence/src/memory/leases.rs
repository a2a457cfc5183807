use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{AuditAction, ChatId, ChatStatus, Lease, NewLease, Scope};

use super::{Chat, MemoryStore};
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::audit::Audited;
use crate::rules::fence::check_fence;
use crate::rules::lease::LeaseState;
use crate::store::{Interrupted, Leases, Written};

#[async_trait]
impl Leases for MemoryStore {
    async fn acquire_lease(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        lease: NewLease,
    ) -> Result<Written<Lease>, StoreError> {
        self.observe(Call::AcquireLease, || {
            let now = self.clock.now();
            let lease = lease.into_lease(0, now, &*self.ids)?;
            self.with_chat(scope, chat_id, |chat| {
                let acquisition = lease.acquisition();
                let state = LeaseState {
                    status: chat.session.status,
                    lease: chat.session.lease.clone(),
                    fencing_token: chat.fencing_token,
                    newest: chat.newest_lease.clone(),
                };
                if let Some(held) = state.repeated(chat_id, &acquisition, now)? {
                    return Ok(Written::found(held, false));
                }
                chat.fencing_token += 1;
                chat.newest_lease = Some(acquisition);
                let lease = Lease { fencing_token: chat.fencing_token, ..lease };
                chat.session.lease = Some(lease.clone());
                Ok(Written::stored(lease))
            })
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
        self.observe(Call::RenewLease, || {
            let expires_at = Lease::expiry(self.clock.now(), ttl)?;
            self.with_chat(scope, chat_id, |chat| {
                chat.check_fence(Some(fencing_token))?;
                let lease = chat.session.lease.as_mut();
                let lease = lease.ok_or_else(|| StoreError::fenced(chat_id, fencing_token))?;
                lease.expires_at = expires_at;
                Ok(lease.clone())
            })
        })
        .await
    }

    async fn release_lease(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fencing_token: u64,
    ) -> Result<(), StoreError> {
        self.observe(Call::ReleaseLease, || {
            self.with_chat(scope, chat_id, |chat| {
                let is_it = |lease: &mut Lease| lease.fencing_token == fencing_token;
                chat.session.lease.take_if(is_it);
                Ok(())
            })
        })
        .await
    }

    async fn revoke_lease(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        acquired_at: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        self.observe(Call::RevokeLease, || {
            self.with_chat(&scope.unfenced(), chat_id, |chat| {
                let is_it = |lease: &mut Lease| lease.acquired_at == acquired_at;
                if chat.session.lease.take_if(is_it).is_some() {
                    let audited = Audited::in_scope(scope, Some(chat_id), AuditAction::RevokeLease);
                    self.add_audit_entry(&audited, self.clock.now())?;
                }
                Ok(())
            })
        })
        .await
    }

    async fn interrupt_abandoned(&self, limit: usize) -> Result<Vec<Interrupted>, StoreError> {
        self.observe(Call::InterruptAbandoned, || {
            let now = self.clock.now();
            let mut chats = self.chats();
            let running =
                chats.values_mut().filter(|chat| chat.session.status == ChatStatus::Running);
            let abandoned = running.filter_map(|chat| {
                let lease = chat.session.lease.take_if(|lease| lease.has_expired(now))?;
                chat.change_status(ChatStatus::Paused, Some(Interrupted::PAUSE_REASON), now);
                self.count(&chat.session, now);
                self.notify_change(chat);
                let (app_id, chat_id) = (chat.session.app_id.clone(), chat.session.chat_id.clone());
                Some(Interrupted { app_id, chat_id, lease })
            });
            Ok(abandoned.take(limit).collect())
        })
        .await
    }
}

impl Chat {
    /// Refuses a write with the fencing token of a lease that is gone.
    pub(super) fn check_fence(&self, fencing_token: Option<u64>) -> Result<(), StoreError> {
        let held = self.session.lease.as_ref().map(|lease| lease.fencing_token);
        check_fence(&self.session.chat_id, fencing_token, held)
    }
}
