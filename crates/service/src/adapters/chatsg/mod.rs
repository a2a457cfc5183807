//! Chat sessions in the shapes of the JSONL session store: chats, their messages, and the context for a model.

use super::{Adapter, Below, Root};
use crate::operations::sections;

mod context;
mod context_window;
mod create;
mod delete;
mod list;
mod list_messages;
mod message;
mod problem;
mod record;
mod save_messages;
mod status;
mod tool_stats;
mod tools;
mod undelete;
mod update;
mod wire;

/// Returns the adapter.
pub(super) fn adapter() -> Adapter {
    Adapter {
        name: "chatsg",
        // The API has paths below `/api/chats` itself, with another meaning.
        root: Root { dropped: "", kept: "/api/", below: Below::App, is_free: false },
        one_session: None,
        token_cookies: &[],
        title: "Chat sessions of the JSONL session store, served by Reprise",
        sections: sections! { true;
            "chats", "Conversations of people with agents" {
                POST   "/chatsg/{app_id}/api/chat" => record::record_chat;
                GET    "/chatsg/{app_id}/api/chats" => list::list_sessions;
                POST   "/chatsg/{app_id}/api/chats" => create::create_session;
                PATCH  "/chatsg/{app_id}/api/chats/{chat_id}" => update::update_session;
                DELETE "/chatsg/{app_id}/api/chats/{chat_id}" => delete::delete_session;
                POST   "/chatsg/{app_id}/api/chats/{chat_id}/undelete" => undelete::undelete_session;
            }
            "messages", "What was said in a chat" {
                GET    "/chatsg/{app_id}/api/chats/{chat_id}/messages" => list_messages::list_session_messages;
                POST   "/chatsg/{app_id}/api/chats/{chat_id}/messages" => save_messages::save_messages;
                GET    "/chatsg/{app_id}/api/chats/{chat_id}/context" => context::get_session_context;
            }
            "tools", "The runs of the tools of a chat" {
                GET    "/chatsg/{app_id}/api/chats/{chat_id}/tools" => tools::list_session_tools;
                GET    "/chatsg/{app_id}/api/chats/{chat_id}/tools/stats" => tool_stats::get_session_tool_stats;
            }
        },
        write_problem: problem::write,
        error_schema: problem::schema,
    }
}
