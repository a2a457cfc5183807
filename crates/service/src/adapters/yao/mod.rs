//! Chat sessions in the shapes of Yao's chat storage: sessions, and messages with a type and props.

use super::{Adapter, Root};
use crate::operations::sections;

mod create;
mod delete;
mod filter;
mod get;
mod groups;
mod list;
mod list_messages;
mod problem;
mod reader;
mod update;
mod wire;

/// Returns the adapter.
pub(super) fn adapter() -> Adapter {
    Adapter {
        name: "yao",
        root: Root { dropped: "", kept: "/v1/chat/", is_free: true },
        title: "Chat sessions of Yao, served by Reprise",
        sections: sections! { true;
            "chat sessions", "Conversations with assistants" {
                GET    "/yao/{app_id}/v1/chat/sessions" => list::list_sessions;
                POST   "/yao/{app_id}/v1/chat/sessions" => create::create_session;
                GET    "/yao/{app_id}/v1/chat/sessions/{chat_id}" => get::get_session;
                PUT    "/yao/{app_id}/v1/chat/sessions/{chat_id}" => update::update_session;
                DELETE "/yao/{app_id}/v1/chat/sessions/{chat_id}" => delete::delete_session;
                GET    "/yao/{app_id}/v1/chat/sessions/{chat_id}/messages" => list_messages::list_session_messages;
            }
        },
        write_problem: problem::write,
        error_schema: problem::schema,
    }
}
