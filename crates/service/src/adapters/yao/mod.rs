//! Chat sessions and assistants in the shapes of Yao's chat storage: sessions, messages with a type and props, and the
//! assistants that they name.

use super::{Adapter, Below, Root};
use crate::operations::sections;

mod assistants;
mod create;
mod delete;
mod delete_messages;
mod filter;
mod find;
mod get;
mod groups;
mod list;
mod list_messages;
mod page;
mod problem;
mod reader;
mod references;
mod resume_records;
mod save_messages;
mod save_turn;
mod update;
mod update_message;
mod wire;

/// Returns the adapter.
pub(super) fn adapter() -> Adapter {
    Adapter {
        name: "yao",
        root: Root { dropped: "", kept: "/v1/", below: Below::App, is_free: true },
        one_session: None,
        token_cookies: &["__Host-access_token", "__Secure-access_token"],
        title: "Chat sessions of Yao, served by Reprise",
        sections: sections! { true;
            "chat sessions", "Conversations with assistants" {
                GET    "/yao/{app_id}/v1/chat/sessions" => list::list_sessions;
                POST   "/yao/{app_id}/v1/chat/sessions" => create::create_session;
                GET    "/yao/{app_id}/v1/chat/sessions/{chat_id}" => get::get_session;
                PUT    "/yao/{app_id}/v1/chat/sessions/{chat_id}" => update::update_session;
                DELETE "/yao/{app_id}/v1/chat/sessions/{chat_id}" => delete::delete_session;
                GET    "/yao/{app_id}/v1/chat/sessions/{chat_id}/messages" => list_messages::list_session_messages;
                POST   "/yao/{app_id}/v1/chat/sessions/{chat_id}/messages" => save_messages::save_messages;
                PATCH  "/yao/{app_id}/v1/chat/sessions/{chat_id}/messages/{message_id}" => update_message::update_session_message;
                POST   "/yao/{app_id}/v1/chat/sessions/{chat_id}/messages/delete" => delete_messages::delete_session_messages;
                GET    "/yao/{app_id}/v1/chat/sessions/{chat_id}/references/{request_id}" => references::list_references;
                POST   "/yao/{app_id}/v1/chat/sessions/{chat_id}/turns" => save_turn::save_turn;
                GET    "/yao/{app_id}/v1/chat/sessions/{chat_id}/resume" => resume_records::list_resume_records;
                GET    "/yao/{app_id}/v1/chat/sessions/{chat_id}/resume/last" => resume_records::get_last_resume_record;
                DELETE "/yao/{app_id}/v1/chat/sessions/{chat_id}/resume" => resume_records::delete_resume_records;
                GET    "/yao/{app_id}/v1/chat/sessions/{chat_id}/stacks/{stack_id}/path" => resume_records::get_stack_path;
            }
            "assistants", "What conversations are with" {
                GET    "/yao/{app_id}/v1/agent/assistants" => assistants::list::list_yao_assistants;
                POST   "/yao/{app_id}/v1/agent/assistants" => assistants::create::create_yao_assistant;
                DELETE "/yao/{app_id}/v1/agent/assistants" => assistants::delete_several::delete_yao_assistants;
                GET    "/yao/{app_id}/v1/agent/assistants/tags" => assistants::tags::list_yao_assistant_tags;
                GET    "/yao/{app_id}/v1/agent/assistants/{assistant_id}" => assistants::get::get_yao_assistant;
                PUT    "/yao/{app_id}/v1/agent/assistants/{assistant_id}" => assistants::update::update_yao_assistant;
                DELETE "/yao/{app_id}/v1/agent/assistants/{assistant_id}" => assistants::delete::delete_yao_assistant;
            }
        },
        write_problem: problem::write,
        error_schema: problem::schema,
    }
}
