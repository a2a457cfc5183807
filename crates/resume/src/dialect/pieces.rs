use std::iter;

use records::JsonObject;
use serde_json::Value;

use super::speaker;
use crate::Repair;
use crate::canonical::{CanonicalMessage, ContentPart, are_parts};

/// A piece of the content of a message.
pub(super) enum Piece {
    Content(ContentPart),
    /// A part that stays as it is; its type is its kind.
    Kept(Value),
}

impl Piece {
    /// Returns whether the piece is a text that is empty or only white space.
    pub(super) fn is_blank(&self) -> bool {
        matches!(self, Self::Content(part) if part.is_blank())
    }
}

/// Takes the fields of each content part that the dialect accepts again, so that they are not reported as removed.
pub(super) fn take_own_fields(
    message: &mut CanonicalMessage,
    is_own: impl Fn(&Value, &str, &Value) -> bool,
) -> Vec<JsonObject> {
    let parts = message.content.as_array_mut().filter(|parts| are_parts(parts));
    let take = |part: &mut Value| {
        let fields = part.as_object().into_iter().flatten();
        let own = fields.filter(|(field, value)| is_own(part, field, value));
        let own: JsonObject = own.map(|(field, value)| (field.clone(), value.clone())).collect();
        if let Some(part) = part.as_object_mut() {
            own.keys().for_each(|field| _ = part.shift_remove(field));
        }
        own
    };
    parts.into_iter().flatten().map(take).collect()
}

/// Removes the texts that are empty or only white space, with the fields of their parts, unless those are worth keeping.
pub(super) fn remove_blank(
    message: &mut CanonicalMessage,
    pieces: Vec<Piece>,
    own: Vec<JsonObject>,
    is_kept: fn(&JsonObject) -> bool,
) -> (Vec<Piece>, Vec<JsonObject>) {
    let count = pieces.len();
    let own = own.into_iter().chain(iter::repeat_with(JsonObject::new));
    let (pieces, own): (Vec<_>, Vec<_>) = pieces
        .into_iter()
        .zip(own)
        .filter(|(piece, own)| !piece.is_blank() || is_kept(own))
        .unzip();
    if pieces.len() < count {
        message.repairs.push(Repair::BlankTextRemoved);
    }
    (pieces, own)
}

/// Takes the content of a message, and puts the name of the speaker in front of it.
///
/// Content parts for which `is_kept` is true stay as they are.
pub(super) fn take_pieces(
    message: &mut CanonicalMessage,
    is_kept: fn(&Value) -> bool,
    default_user_name: &str,
) -> Vec<Piece> {
    let mut pieces = take_unnamed_pieces(message, is_kept);
    prefix_with_name(message, &mut pieces, default_user_name);
    pieces
}

/// Puts the name of the speaker in front of the first text.
pub(super) fn prefix_with_name(
    message: &mut CanonicalMessage,
    pieces: &mut [Piece],
    default_user_name: &str,
) {
    let first_text = pieces.iter_mut().find_map(|piece| match piece {
        Piece::Content(ContentPart::Text(text)) => Some(text),
        _ => None,
    });
    speaker::prefix_text_with_name(message, first_text, default_user_name);
}

/// Takes the content of a message, for dialects that have a field for the name of the speaker.
pub(super) fn take_unnamed_pieces(
    message: &mut CanonicalMessage,
    is_kept: fn(&Value) -> bool,
) -> Vec<Piece> {
    take_pieces_at(message, |_, part| is_kept(part))
}

/// The same with the position of each content part.
pub(super) fn take_pieces_at(
    message: &mut CanonicalMessage,
    is_kept: impl Fn(usize, &Value) -> bool,
) -> Vec<Piece> {
    let mut pieces = Vec::new();
    match message.content.take() {
        Value::Array(list) if !list.is_empty() && are_parts(&list) => {
            for (at, part) in list.into_iter().enumerate() {
                pieces.push(if is_kept(at, &part) {
                    Piece::Kept(part)
                } else {
                    Piece::Content(message.read_part(part))
                });
            }
        }
        other => message.content = other,
    }
    pieces.extend(message.take_parts().into_iter().map(Piece::Content));
    pieces
}
