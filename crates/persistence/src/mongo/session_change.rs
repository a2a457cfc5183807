//! Changes of a chat session itself: its title, its rights, its lifecycle.

use bson::{Bson, DateTime, Document, doc};
use records::{
    ChatId, ChatSession, Lifecycle, Scope, SessionChange, TeamId, Visibility, title_key,
};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::word::StoredEnum as _;
use crate::mongo::documents::{
    DeclaredKeys, IS_UNCOUNTED, LIFECYCLE, LIFECYCLE_AT, TITLE_KEY, TITLE_TRIGRAMS, counter,
    stored_trigrams,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::json::to_document;
use crate::mongo::engine::marks::with_mark;
use crate::mongo::engine::scope::writable_chat;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::mongo::leases::same_number;
use crate::mongo::streams::EndedStreams;
use crate::rules::audit::{Audited, change_action};
use crate::rules::fence::check_fence;
use crate::rules::if_match::Versioned;

impl MongoStore {
    pub(crate) async fn change_session(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        change: SessionChange,
    ) -> Result<ChatSession, StoreError> {
        change.check()?;
        let mark = self.inner.ids.mint("change_");
        let (scope, chat_id) = (scope.clone(), chat_id.clone());
        self.write(|call| async move {
            let round = |tx| call.change_round(tx, &scope, &chat_id, &change, &mark);
            let (chat, ended) = call.transact(&scope, &chat_id, round).await?;
            call.inner.chains.forget_chat(&chat_id);
            call.notify_change(&chat_id);
            call.notify_streams(&chat_id, ended);
            Ok(chat)
        })
        .await
    }

    /// Reads the chat, then changes what differs, on the condition that no other such change came between.
    async fn change_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        change: &SessionChange,
        mark: &str,
    ) -> Result<Round<(ChatSession, EndedStreams)>, Failure> {
        let is_written = self.was_written(tx.attempt(), scope, chat_id, mark).await?;
        let chat = self.known_chat(scope, chat_id).await?;
        if is_written {
            return Ok(Round::Done((chat, Vec::new())));
        }
        let held = chat.lease.as_ref().map(|lease| lease.fencing_token);
        check_fence(chat_id, scope.fencing_token, held)?;
        Versioned::Session.check(scope, chat_id, chat.session_version, true)?;
        let now = self.inner.clock.now();
        let changed = change.apply(&chat, scope.caller.person(), now).map_err(StoreError::from)?;
        let Some(changed) = changed else { return Ok(Round::Done((chat, Vec::new()))) };
        if !changed.lifecycle.exists() {
            self.require(Shape::DeletedChats).await?;
        }
        let audited = Audited::in_scope(scope, Some(chat_id), change_action(&chat, &changed));
        let entry = self.audit_document(&audited).await?;
        let mut filter = writable_chat(scope, chat_id);
        filter.insert("session_version", same_number(chat.session_version));
        let mut update = difference(&chat, &changed, &self.declared_keys(&chat.app_id).await?);
        with_mark(mark, &mut filter, &mut update);
        if chat.lifecycle != changed.lifecycle {
            // The status decides whether the chat is counted.
            filter.insert("status", chat.status.number());
        }
        tx.begin_uncounting(&chat, &changed).await?;
        let updated = self.updated_session(Some(&tx), filter, update).await?;
        let Some(updated) = updated else { return Ok(Round::Again) };
        self.insert_audit_document(&tx, &entry).await?;
        self.recount_chat(&chat, &changed, &tx).await?;
        let ended = self.end_streams_within(&tx, scope, &updated).await?;
        Ok(Round::Done((updated, ended)))
    }
}

/// Returns the update that changes one session into another, whose app has declared keys of the metadata. It leaves out what is
/// the same, which other calls may be changing.
pub(super) fn difference(from: &ChatSession, to: &ChatSession, keys: &DeclaredKeys) -> Document {
    let mut set = doc! {
        "session_version": counter(to.session_version),
        "last_updated_at": DateTime::from_chrono(to.last_updated_at),
    };
    let mut unset = Document::new();
    let mut put = |field: &str, value: Option<Bson>| match value {
        Some(value) => drop(set.insert(field, value)),
        None => drop(unset.insert(field, "")),
    };
    put("updated_by", to.updated_by.as_ref().map(|it| it.as_str().into()));
    if from.title != to.title {
        put("title", Some(to.title.clone().into()));
        let trigrams = stored_trigrams(to.title.as_deref());
        put(TITLE_KEY, Some(title_key(to.title.as_deref()).into()));
        put(TITLE_TRIGRAMS, trigrams.map(Bson::from_iter));
    }
    if from.metadata != to.metadata {
        put("metadata", Some(to_document(&to.metadata).into()));
        for (field, value) in keys.attributes(&to.metadata).fields() {
            put(field, value);
        }
    }
    if from.visibility != to.visibility {
        put("visibility", Some(to.visibility.name().into()));
        put("is_listed", (to.visibility == Visibility::App).then_some(true.into()));
    }
    if from.team_id != to.team_id {
        put("team_id", Some(to.team_id.as_ref().map(TeamId::as_str).into()));
    }
    if from.assistant_id != to.assistant_id {
        put("assistant_id", to.assistant_id.as_ref().map(|it| it.as_str().into()));
    }
    if from.sort != to.sort {
        put("sort", Some(to.sort.into()));
    }
    if from.system_prompt != to.system_prompt {
        put("system_prompt", to.system_prompt.as_deref().map(Bson::from));
    }
    if from.lifecycle != to.lifecycle {
        let lifecycle = Some(to.lifecycle).filter(|it| *it != Lifecycle::Active);
        put(LIFECYCLE, lifecycle.map(|it| it.number().into()));
        put(LIFECYCLE_AT, to.lifecycle_at.map(|at| DateTime::from_chrono(at).into()));
        put(IS_UNCOUNTED, to.is_uncounted.then_some(true.into()));
    }
    let mut update = Document::new();
    if !to.lifecycle.exists() {
        set.insert("lease", Bson::Null);
        update.insert("$max", doc! { "schema_version": Shape::DeletedChats.format() });
    }
    update.insert("$set", set);
    if !unset.is_empty() {
        update.insert("$unset", unset);
    }
    update
}
