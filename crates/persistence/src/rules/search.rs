//! What of a message is found, and how it is shown.

use records::{Message, SearchQuery, Snippet, said, search_words};

/// Returns the words under which a message is found. A deleted message has none.
pub(crate) fn words_of(message: &Message) -> Vec<String> {
    if message.deleted_at.is_some() { Vec::new() } else { search_words(&said(&message.body)) }
}

/// Returns the part of a message that is shown as a hit; `None` if the message, as it is now, is none.
pub(crate) fn shown_part(query: &SearchQuery, message: &Message) -> Option<Snippet> {
    if message.deleted_at.is_some() {
        return None;
    }
    let text = said(&message.body);
    query.find(&text).map(|places| Snippet::of(&text, &places))
}
