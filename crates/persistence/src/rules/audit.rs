//! What an entry of the audit log says, and which actions of a chat get one.

use chrono::{DateTime, Utc};
use records::{
    AccessKey, Actor, AppId, AppStatus, AuditAction, AuditEntry, AuditEntryId, ChatId, ChatSession,
    ChatStatus, IdError, Lifecycle, Pseudonym, PseudonymKey, RevocationKey, RevocationTarget,
    Scope, UserId,
};
use sha2::{Digest as _, Sha256};

use crate::StoreError;

/// For how long repeated reads count as one: the polling of one person must not fill the log.
const READ_SECONDS: i64 = 60;

/// An action for the audit log, before pseudonyms replace its persons.
#[derive(Debug, Clone)]
pub(crate) struct Audited {
    actor: Actor,
    app_id: Option<AppId>,
    chat_id: Option<ChatId>,
    action: AuditAction,
    subject: Option<UserId>,
}

/// The pseudonyms of the persons of an action.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pseudonyms {
    pub(crate) actor: Option<Pseudonym>,
    pub(crate) subject: Option<Pseudonym>,
}

impl Audited {
    /// Describes an action of a caller in their app.
    pub(crate) fn in_scope(scope: &Scope, chat_id: Option<&ChatId>, action: AuditAction) -> Self {
        let (actor, app_id) = (scope.actor(), Some(scope.app_id.clone()));
        Self { actor, app_id, chat_id: chat_id.cloned(), action, subject: None }
    }

    /// Describes an action on the registry of apps.
    pub(crate) fn of_registry(actor: &Actor, app_id: Option<&AppId>, action: AuditAction) -> Self {
        let (actor, app_id) = (actor.clone(), app_id.cloned());
        Self { actor, app_id, chat_id: None, action, subject: None }
    }

    /// Describes an action of an operator that concerns an app or a chat, or neither.
    pub(crate) fn of_operator(
        actor: &Actor,
        app_id: Option<&AppId>,
        chat_id: Option<&ChatId>,
        action: AuditAction,
    ) -> Self {
        Self { chat_id: chat_id.cloned(), ..Self::of_registry(actor, app_id, action) }
    }

    /// Describes an action on an access key. It names the app if the key is for one app.
    pub(crate) fn of_key(actor: &Actor, key: &AccessKey, action: AuditAction) -> Self {
        let app_id = match key.apps.as_deref() {
            Some([app_id]) => Some(app_id),
            _ => None,
        };
        let subject = key.bearer.person().cloned();
        Self { subject, ..Self::of_registry(actor, app_id, action) }
    }

    /// Describes an action on a revocation.
    pub(crate) fn of_revocation(actor: &Actor, key: &RevocationKey, action: AuditAction) -> Self {
        let subject = match &key.target {
            RevocationTarget::Token(_) => None,
            RevocationTarget::User(user_id) => Some(user_id.clone()),
        };
        Self { subject, ..Self::of_registry(actor, key.app_id.as_ref(), action) }
    }

    /// Adds the person whom the action concerns.
    pub(crate) fn about(self, user_id: &UserId) -> Self {
        Self { subject: Some(user_id.clone()), ..self }
    }

    /// Returns the app to which the pseudonyms belong.
    pub(crate) fn app_id(&self) -> Option<&AppId> {
        self.app_id.as_ref()
    }

    /// Returns the actor, if it is a person.
    pub(crate) fn person(&self) -> Option<&UserId> {
        self.actor.person.as_ref()
    }

    /// Returns the person whom the action concerns.
    pub(crate) fn subject(&self) -> Option<&UserId> {
        self.subject.as_ref()
    }

    /// Makes the entry of a read. The entry of a repeat has the same id.
    pub(crate) fn read_entry(
        &self,
        at: DateTime<Utc>,
        pseudonyms: Pseudonyms,
    ) -> Result<AuditEntry, StoreError> {
        let Actor { role, origin, .. } = &self.actor;
        let minute = at.timestamp().div_euclid(READ_SECONDS);
        // The pseudonym stands for the person, so without its key the id tells nothing either.
        let (actor, network) = (pseudonyms.actor.map(|it| it.to_string()), origin.network);
        let read = (&self.app_id, &self.chat_id, self.action, role, actor, network, minute);
        let digest = hex::encode(&Sha256::digest(format!("{read:?}"))[..16]);
        self.entry(format!("audit_read_{digest}"), at, pseudonyms)
    }

    /// Makes the entry of an action.
    pub(crate) fn entry(
        &self,
        id: String,
        at: DateTime<Utc>,
        pseudonyms: Pseudonyms,
    ) -> Result<AuditEntry, StoreError> {
        let entry_id = AuditEntryId::parse(id).map_err(no_id)?;
        Ok(AuditEntry {
            entry_id,
            at,
            app_id: self.app_id.clone(),
            chat_id: self.chat_id.clone(),
            action: self.action,
            role: self.actor.role,
            actor: pseudonyms.actor,
            subject: pseudonyms.subject,
            network: self.actor.origin.network,
            request_id: self.actor.origin.request_id.clone(),
        })
    }
}

fn no_id(error: IdError) -> StoreError {
    StoreError::Refused { source: error.into() }
}

/// Returns the action of a status change; `None` if it belongs to the run of a workflow.
pub(crate) fn status_action(from: ChatStatus, to: ChatStatus) -> Option<AuditAction> {
    match to {
        ChatStatus::Completed => Some(AuditAction::CompleteChat),
        ChatStatus::Failed => Some(AuditAction::FailChat),
        ChatStatus::Running if from.is_ended() => Some(AuditAction::ReopenChat),
        ChatStatus::Running | ChatStatus::Paused => None,
    }
}

/// Returns the action of a change of a chat session.
pub(crate) fn change_action(from: &ChatSession, to: &ChatSession) -> AuditAction {
    match to.lifecycle {
        same if same == from.lifecycle => AuditAction::UpdateChat,
        Lifecycle::Active if from.lifecycle == Lifecycle::Archived => AuditAction::ActivateChat,
        Lifecycle::Archived if from.lifecycle == Lifecycle::Active => AuditAction::ArchiveChat,
        Lifecycle::Active | Lifecycle::Archived => AuditAction::UndeleteChat,
        Lifecycle::Deleted | Lifecycle::Purged => AuditAction::DeleteChat,
    }
}

/// Returns the action that gives an app of the registry a status.
pub(crate) fn registry_action(status: AppStatus) -> AuditAction {
    match status {
        AppStatus::Enabled => AuditAction::EnableApp,
        AppStatus::Disabled => AuditAction::DisableApp,
    }
}

/// Makes a random key for a person.
pub(crate) fn new_key() -> Result<PseudonymKey, StoreError> {
    let mut bytes = [0; PseudonymKey::BYTES];
    getrandom::fill(&mut bytes).map_err(|error| StoreError::Refused { source: error.into() })?;
    Ok(PseudonymKey::new(bytes))
}
