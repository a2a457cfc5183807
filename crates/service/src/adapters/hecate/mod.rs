//! Chat sessions in the shapes of Hecate: two streams, the messages and the calls of providers.

use super::{Adapter, Below, Root};
use crate::operations::sections;

mod create;
mod delete;
mod exchange;
mod get;
mod list;
mod overlap;
mod problem;
mod prompt;
mod record;
mod session;
mod update;
mod wire;

/// Returns the adapter.
pub(super) fn adapter() -> Adapter {
    Adapter {
        name: "hecate",
        root: Root { dropped: "/hecate", kept: "/v1/chat/", below: Below::App, is_free: true },
        one_session: None,
        token_cookies: &[],
        title: "Chat sessions of Hecate, served by Reprise",
        sections: sections! { true;
            "chat sessions", "Conversations, and the calls that produced them" {
                GET    "/hecate/{app_id}/v1/chat/sessions" => list::list_sessions;
                POST   "/hecate/{app_id}/v1/chat/sessions" => create::create_session;
                GET    "/hecate/{app_id}/v1/chat/sessions/{chat_id}" => get::get_session;
                PATCH  "/hecate/{app_id}/v1/chat/sessions/{chat_id}" => update::update_session;
                DELETE "/hecate/{app_id}/v1/chat/sessions/{chat_id}" => delete::delete_session;
            }
            "recording", "What a gateway stores of each request" {
                POST   "/hecate/{app_id}/v1/chat/sessions/{chat_id}/exchanges" => exchange::append_session_exchange;
                POST   "/hecate/{app_id}/v1/chat/sessions/{chat_id}/record" => record::record_exchange;
                GET    "/hecate/{app_id}/v1/chat/sessions/{chat_id}/prompt" => prompt::get_prompt;
            }
        },
        write_problem: problem::write,
        error_schema: problem::schema,
    }
}
