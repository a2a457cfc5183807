//! The canonical message, from which every dialect renders.
//!
//! [`read_message()`] converts a stored message into canonical messages: its role, its speaker, its
//! content, the tool calls it makes or the tool call it answers. It does this in one place, so that
//! no dialect interprets stored fields by itself.

mod answer;
pub(crate) use answer::{
    AFTER_CALLS, ANSWER, AnswerMark, AnswerShape, CONTINUED, ContinuedMark, part_count,
};

pub(crate) mod anthropic;

mod blocks;

mod call;
pub(crate) use call::{Call, NO_SIGNATURE, json_input};

mod json_text;
pub(crate) use json_text::{serialise, serialise_content, serialise_part};

mod library_media;

mod media;
pub(crate) use media::{Media, MediaKind, MediaSource, is_text_type};

mod media_type;
pub(crate) use media_type::{URL_TYPE, plain_type, type_of_ending};

mod message;
pub(crate) use message::{CanonicalMessage, ResultName, is_empty_value};

mod part;
pub(crate) use part::{ContentPart, are_parts};

mod provider;
pub(crate) use provider::Provider;

mod read;
pub(crate) use read::{read_message, take_field, take_list, take_object};

mod reasoning;
pub(crate) use reasoning::{POSITION, PlacedReasoning, Reasoning, THOUGHT, interleave};

mod role;
pub(crate) use role::Role;
