//! Chats that were read whole.

use records::{ChatId, Limits};
use transfer::transcripts::ReadChat;

use super::report::Report;
use super::sink::{Batch, Sink, Stop};

/// Reports what is not stored as it stands in the file.
pub(crate) fn tell(chat: &ReadChat, place: &str, report: &mut Report) -> Result<(), Stop> {
    for field in &chat.unknown {
        report.warn(place, format!("has a field `{field}` that is left out"))?;
    }
    for noted in &chat.noted {
        let what = format!("message {}: {}: {}", noted.index, noted.rule, noted.detail);
        report.warn(place, what)?;
    }
    for dropped in &chat.dropped {
        report.counts.messages_left_out += 1;
        report.warn(place, format!("message {} is left out: {}", dropped.index, dropped.reason))?;
    }
    Ok(())
}

/// Refuses a chat if the one that is stored under its id begins otherwise: it would be stored behind that one.
pub(crate) async fn refuse_another(
    chat: &ReadChat,
    chat_id: &ChatId,
    sink: &Sink<'_>,
) -> Result<(), Stop> {
    let (Some(existing), Some(first)) = (sink.get(chat_id).await?, chat.messages.first()) else {
        return Ok(());
    };
    let mut batch = Batch::default();
    batch.add(first.clone().into_message(existing.id_salt), first.bytes());
    if existing.last_sequence == 0 || sink.known(chat_id, &batch).await? == [true] {
        return Ok(());
    }
    Err(Stop::Chat(format!(
        "does not begin as the chat {chat_id} that is stored: it was changed, or is another one; give it another id"
    )))
}

/// Refuses a chat that has new messages if the one that is stored under its id has others: they would be stored behind those.
pub(crate) async fn refuse_changed(
    chat: &ReadChat,
    chat_id: &ChatId,
    sink: &Sink<'_>,
) -> Result<(), Stop> {
    let Some(existing) = sink.get(chat_id).await? else { return Ok(()) };
    let (mut known, mut new) = (0, 0);
    for messages in chat.messages.chunks(Limits::BATCH_MESSAGES) {
        let mut batch = Batch::default();
        for message in messages {
            batch.add(message.clone().into_message(existing.id_salt), message.bytes());
        }
        for is_known in sink.known(chat_id, &batch).await? {
            *(if is_known { &mut known } else { &mut new }) += 1_u64;
        }
    }
    if new == 0 || known == existing.last_sequence {
        return Ok(());
    }
    Err(Stop::Chat(format!(
        "has {new} messages that the chat {chat_id} does not have, and would be stored behind {} others that are not here: one of \
         the two was changed, or has gone on by itself; give the session another id to import it as another chat",
        existing.last_sequence - known
    )))
}

/// Stores a chat, or what it has that is not stored.
pub(crate) async fn store(
    chat: ReadChat,
    chat_id: &ChatId,
    place: &str,
    sink: &Sink<'_>,
    report: &mut Report,
) -> Result<(), Stop> {
    let existing = sink.get(chat_id).await?;
    let is_new = existing.is_none();
    let salt = sink.ensure(existing.as_ref(), chat.new, chat.created_at, report).await?;
    let mut stored = 0;
    let mut batch = Batch::default();
    for message in chat.messages {
        let (bytes, message) = (message.bytes(), message.into_message(salt));
        if batch.is_full(bytes) {
            let full = std::mem::take(&mut batch);
            sink.append_batch(chat_id, full, None, is_new, &mut stored, report).await?;
        }
        if !batch.add(message, bytes) {
            report.warn(place, "has two messages with one id: the first one is stored")?;
        }
    }
    sink.append_batch(chat_id, batch, None, is_new, &mut stored, report).await?;
    if stored > 0
        && let Some(fault) = sink.index(chat_id).await
    {
        report.warn(place, fault)?;
    }
    Ok(())
}
