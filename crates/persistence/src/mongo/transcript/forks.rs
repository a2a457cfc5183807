//! Forks share the sealed messages of their source; only messages in its tail are copied (decision 0023).

use async_trait::async_trait;
use bson::raw::{RawArrayBuf, cstr};
use bson::{Bson, RawDocumentBuf, doc};
use records::{ChatId, ChatSession, ContextSnapshot, KeptContext, NewFork, Scope};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::blobs::Placed;
use crate::mongo::chat_sessions::without_large_fields;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{
    Base, BlobKind, ChatSessionDocument, Lineage, Tail, chat_session_record,
    context_written_document, counter, encode, has_salt, open_chat_session,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::json::to_document;
use crate::mongo::engine::scope::permitted_chat;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::mongo::leases::same_number;
use crate::rules::new_chat::forked;
use crate::store::Forks;

#[async_trait]
impl Forks for MongoStore {
    async fn fork_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        mut fork: NewFork,
    ) -> Result<ChatSession, StoreError> {
        self.observe(Call::ForkChat, Some(chat_id), async {
            let fork_id = fork.chat_id.take().unwrap_or_else(|| ChatId::mint(&*self.inner.ids));
            let fork = NewFork { chat_id: Some(fork_id.clone()), ..fork };
            let creation_id = self.inner.ids.mint("creation_");
            // The scope is unfenced, because `transact` checks the lease of the fork, which has none yet.
            let (scope, chat_id) = (scope.clone(), chat_id.clone());
            self.write(|call| async move {
                let round = |tx| call.fork_round(tx, &scope, &chat_id, &fork, &creation_id);
                let chat = call.transact(&scope.unfenced(), &fork_id, round).await?;
                // The search index must have its messages.
                call.notify_append(&fork_id, chat.last_sequence);
                Ok(chat)
            })
            .await
        })
        .await
    }
}

/// A fork that is ready to be inserted.
struct Fork {
    chat: ChatSession,
    document: RawDocumentBuf,
    context: Placed,
    source: ChatId,
    /// The revision of the source when the fork was prepared.
    revision: i64,
    /// The context version and the system prompt that it had then.
    context_version: u64,
    system_prompt: Option<String>,
    /// The messages of the source below this sequence are shared.
    shared_below: u64,
}

/// What a fork inherits from its source.
struct Inherited {
    bases: Vec<Base>,
    /// The sequence of the first copied message.
    first_sequence: u64,
    messages: RawArrayBuf,
    bytes: u64,
}

impl MongoStore {
    async fn fork_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        fork: &NewFork,
        creation_id: &str,
    ) -> Result<Round<ChatSession>, Failure> {
        if let Some(fork_id) = fork.chat_id.as_ref().filter(|_| !tx.is_first())
            && self.is_created(fork_id, creation_id).await?
        {
            return self.created(fork_id).await.map(Round::Done);
        }
        self.require(Shape::Forks).await?;
        let prepared = self.prepare_fork(scope, chat_id, fork, creation_id).await?;
        tx.begin_counted(&prepared.chat).await?;
        // With `None`, the source was edited meanwhile, and the round runs again.
        let inserted = self.insert_fork(&tx, scope, &prepared).await?;
        Ok(Round::of(inserted.map(|()| prepared.chat)))
    }

    /// Reads a chat that this call has created.
    async fn created(&self, chat_id: &ChatId) -> Result<ChatSession, Failure> {
        let found = self.inner.chat_sessions.find_one(doc! { "_id": chat_id.as_str() });
        let found = found.projection(without_large_fields()).await?;
        let found = found.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))?;
        Ok(chat_session_record(&found)?)
    }

    /// Prepares a fork of the source in its current state.
    async fn prepare_fork(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fork: &NewFork,
        creation_id: &str,
    ) -> Result<Fork, Failure> {
        let fields = doc! { "last_artifact": 0, "context_snapshot": 0, "context_recent": 0 };
        let raw = self.session_within(scope, chat_id, fields).await?;
        let fields = open_chat_session(&raw)?;
        let (clock, ids) = (&*self.inner.clock, &*self.inner.ids);
        let source = chat_session_record(&raw)?;
        let chat = forked(scope, &source, fork.clone(), clock, ids)?;
        let keys = self.declared_keys(&chat.app_id).await?;
        let mut document = ChatSessionDocument::new(&chat, creation_id, &keys);
        let context_version = fields.count("context_version")?;
        let context = match context_version {
            0 => Placed::nothing(),
            _ => self.fork_context(scope, chat_id, &chat, &mut document).await?,
        };
        let copied = |sequence, message: &Fields<'_>| {
            self.tagged_copy(&chat.app_id, (chat_id, &chat.chat_id), sequence, message)
        };
        let taken = Inherited::read(chat_id, &fields, chat.last_sequence, copied)?;
        document.first_sequence = taken.first_sequence;
        document.tail_bytes = taken.bytes;
        if !taken.bases.is_empty() {
            document.schema_version = Shape::Forks.format();
        }
        if has_salt(&taken.messages) {
            document.schema_version = Shape::Salts.format();
        }
        document.bases = Some(taken.bases);
        document.messages = None;
        let mut document = encode(&document)?;
        document.append(cstr!("messages"), taken.messages);
        Ok(Fork {
            chat,
            document,
            context,
            source: chat_id.clone(),
            revision: fields.integer("revision")?,
            context_version,
            system_prompt: source.system_prompt,
            shared_below: taken.first_sequence,
        })
    }

    /// Adds the context snapshot that the source had at the fork's last sequence to the fork's document.
    async fn fork_context(
        &self,
        scope: &Scope,
        source: &ChatId,
        chat: &ChatSession,
        document: &mut ChatSessionDocument<'_>,
    ) -> Result<Placed, Failure> {
        let Some(kept) = self.context_at(scope, source, chat.last_sequence).await? else {
            return Ok(Placed::nothing());
        };
        let KeptContext { version, data } = kept;
        let value = to_document(&data);
        let bytes = ContextSnapshot::check(&data)?;
        let placed = self.place(scope, &chat.chat_id, BlobKind::Context, value.into(), bytes)?;
        if let Some(Bson::Document(inline)) = &placed.inline {
            document.context_snapshot = inline.clone();
        }
        let write_id = self.inner.ids.mint("write_");
        let written = context_written_document(version.created_at, version.bytes, &write_id);
        document.context_blob.clone_from(&placed.blob);
        document.context_sequence = version.sequence;
        document.context_version = 1;
        document.context_written = Some(written);
        Ok(placed)
    }

    /// Inserts a fork; `None` if its source was changed since it was read. From then on, the shared
    /// messages are never written again.
    async fn insert_fork(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        fork: &Fork,
    ) -> Result<Option<()>, Failure> {
        let mut source = permitted_chat(scope, &fork.source);
        source.insert("revision", fork.revision);
        // An erasure takes these from a fork, and a fork of it must not keep them.
        source.insert("context_version", same_number(fork.context_version));
        source.insert("system_prompt", fork.system_prompt.as_deref());
        let mut shared = doc! {
            "shared_below": counter(fork.shared_below),
            "shared_revision": fork.revision,
        };
        if fork.shared_below > 0 {
            shared.insert("schema_version", Shape::Forks.format());
        }
        // An update that changes nothing would conflict with nothing. The counter changes with every fork, so that a deletion,
        // a purge or an erasure of the source comes before this fork or sees it.
        let share = doc! { "$max": shared, "$inc": { "fork_count": 1_i64 } };
        // The source is updated first, which locks it: concurrent appends wait for this transaction.
        // Otherwise any of them could make it fail.
        let sharing = self.inner.chat_sessions.update_one(source, share);
        if sharing.session(&mut *tx.session().await?).await?.matched_count == 0 {
            return Ok(None);
        }
        let insert = self.inner.chat_sessions.insert_one(&fork.document);
        insert.session(&mut *tx.session().await?).await?;
        self.insert_blob(&fork.context, tx).await?;
        self.count_new_chat(&fork.chat, tx).await?;
        Ok(Some(()))
    }
}

impl Inherited {
    /// Reads what a fork that continues from a sequence inherits. `copied` makes copies that differ from their message.
    fn read(
        source: &ChatId,
        fields: &Fields<'_>,
        sequence: u64,
        copied: impl Fn(u64, &Fields<'_>) -> Result<Option<RawDocumentBuf>, StoreError>,
    ) -> Result<Self, StoreError> {
        let sealed_below = Tail::read(fields)?.first_sequence;
        let bases = Lineage::read(source, fields)?.fork_bases(sequence, sealed_below);
        let (mut messages, mut bytes) = (RawArrayBuf::new(), 0);
        for (at, message) in (sealed_below..sequence).zip(fields.documents("messages")?) {
            let message = message?;
            bytes += message.count("bytes")?;
            match copied(at, &message)? {
                Some(copy) => messages.push(copy),
                None => messages.push(message.raw()),
            }
        }
        Ok(Self { bases, first_sequence: sealed_below.min(sequence), messages, bytes })
    }
}
