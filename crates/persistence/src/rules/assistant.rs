//! What a write of an assistant stores, and who may make it.

use chrono::{DateTime, Utc};
use records::{
    Assistant, AssistantChange, AssistantContent, AssistantId, AuditAction, Caller, Invalid,
    NewAssistant, Permission, Scope, UserId,
};

use crate::StoreError;
use crate::store::Written;

/// A write of an assistant.
#[derive(Debug, Clone)]
pub(crate) enum AssistantWrite {
    Put(Box<NewAssistant>),
    Change(Box<AssistantChange>),
}

/// What a write does.
#[derive(Debug)]
pub(crate) enum Decision {
    /// Nothing differs.
    Keep(Assistant),
    /// This is stored, in place of the version before.
    Store(Assistant),
}

impl AssistantWrite {
    /// Returns the action of a write that changes something.
    pub(crate) fn action(&self) -> AuditAction {
        match self {
            Self::Put(_) => AuditAction::PutAssistant,
            Self::Change(_) => AuditAction::UpdateAssistant,
        }
    }

    /// Checks what can be checked without the stored assistant.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        match self {
            Self::Put(new) => new.content.check(),
            Self::Change(_) => Ok(()),
        }
    }

    /// Decides what becomes of the stored assistant, or of none.
    pub(crate) fn decide(
        self,
        scope: &Scope,
        assistant_id: &AssistantId,
        stored: Option<Assistant>,
        now: DateTime<Utc>,
    ) -> Result<Decision, StoreError> {
        let Some(stored) = stored else { return self.create(scope, assistant_id, now) };
        if let Err(refusal) = check_manages(scope, &stored) {
            let is_put = matches!(self, Self::Put(_));
            return Err(match refusal {
                StoreError::AssistantNotFound(id) if is_put => StoreError::AssistantTaken(id),
                refusal => refusal,
            });
        }
        check_seen(scope, &stored)?;
        let (content, user_id) = self.applied_to(stored.content.clone(), stored.user_id.clone());
        content.check()?;
        if content == stored.content && user_id == stored.user_id {
            return Ok(Decision::Keep(stored));
        }
        let version = stored.version + 1;
        Ok(Decision::Store(Assistant { user_id, content, version, last_updated_at: now, ..stored }))
    }

    fn create(
        self,
        scope: &Scope,
        assistant_id: &AssistantId,
        now: DateTime<Utc>,
    ) -> Result<Decision, StoreError> {
        if scope.if_match.is_some() && matches!(self, Self::Put(_)) {
            return Err(StoreError::AssistantChanged(assistant_id.clone()));
        }
        let Self::Put(new) = self else {
            return Err(StoreError::AssistantNotFound(assistant_id.clone()));
        };
        let assistant = Assistant {
            app_id: scope.app_id.clone(),
            assistant_id: assistant_id.clone(),
            user_id: new.user_id.applied_to(None),
            content: new.content,
            version: 1,
            created_at: now,
            last_updated_at: now,
        };
        // Support helps with what is there.
        let is_support = matches!(scope.caller, Caller::Support { .. });
        if is_support || !scope.reach(scope.permission).includes_record(&assistant) {
            let (assistant_id, permission) = (assistant_id.clone(), Permission::Create);
            return Err(StoreError::AssistantForbidden { assistant_id, permission });
        }
        Ok(Decision::Store(assistant))
    }

    fn applied_to(
        self,
        content: AssistantContent,
        user_id: Option<UserId>,
    ) -> (AssistantContent, Option<UserId>) {
        match self {
            Self::Put(new) => (new.content, new.user_id.applied_to(user_id)),
            Self::Change(change) => {
                let user_id = change.user_id.clone().applied_to(user_id);
                (change.apply(content), user_id)
            }
        }
    }
}

impl Decision {
    /// Returns the assistant after the write, as the answer of a call that stores an assistant.
    pub(crate) fn written(self) -> Written<Assistant> {
        match self {
            Self::Store(assistant) if assistant.version == 1 => Written::stored(assistant),
            Self::Keep(assistant) | Self::Store(assistant) => Written::found(assistant, false),
        }
    }
}

/// Refuses a caller without the permission of the scope in an assistant.
pub(crate) fn check_manages(scope: &Scope, stored: &Assistant) -> Result<(), StoreError> {
    let may = |permission| scope.reach(permission).includes_record(stored);
    let assistant_id = stored.assistant_id.clone();
    match scope.permission {
        permission if may(permission) => Ok(()),
        permission if may(Permission::Read) => {
            Err(StoreError::AssistantForbidden { assistant_id, permission })
        }
        _ => Err(StoreError::AssistantNotFound(assistant_id)),
    }
}

/// Refuses a write of an assistant that the caller has seen otherwise.
pub(crate) fn check_seen(scope: &Scope, stored: &Assistant) -> Result<(), StoreError> {
    match &scope.if_match {
        Some(seen) if !seen.accepts(&stored.entity_tag()) => {
            Err(StoreError::AssistantChanged(stored.assistant_id.clone()))
        }
        _ => Ok(()),
    }
}
