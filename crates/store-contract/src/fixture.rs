//! Fixtures for the promises: chats, wallets, short constructors for input, assertions on answers,
//! and timing.

mod answer;
mod chat;
mod input;
mod paging;
mod timing;
mod wallet;

pub(super) use answer::{
    assert_dense, assert_invalid, assert_refused, contents, outcomes, sequences,
};
pub(super) use chat::TestChat;
pub(super) use input::{
    event, event_id, message, nested, new_chat, new_content, numbered, object, some_scope, workflow,
};
pub(super) use paging::{list_all, list_in_pages};
pub(super) use timing::{a_moment_passes, race};
pub(super) use wallet::{TestWallet, new_entry};
