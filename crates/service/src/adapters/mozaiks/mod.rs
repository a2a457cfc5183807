//! The routes that the front end of `MozaiksAI` calls: it starts workflows, finds their sessions, answers their questions, and
//! listens to them.

use super::{Adapter, Below, Root};
use crate::api::tokens::{balance, consume};
use crate::operations::sections;

mod answer;
mod component_action;
mod exists;
mod general_chat;
mod general_transcript;
mod join;
mod list;
mod list_general_chats;
mod list_sessions;
mod meta;
mod oldest_session;
mod problem;
mod recent_session;
mod say;
mod session;
mod start;
mod start_claim;
mod submit_input;
mod submit_tool;

/// Returns the adapter.
pub(super) fn adapter() -> Adapter {
    Adapter {
        name: "mozaiks",
        // The API has paths below `/api/chats` and `/chat` itself, with another meaning.
        root: Root { dropped: "", kept: "/", below: Below::Name, is_free: false },
        one_session: None,
        token_cookies: &[],
        title: "The routes of MozaiksAI's front end, served by Reprise",
        sections: sections! { true;
            "chats", "The runs of workflows" {
                POST   "/mozaiks/api/chats/{app_id}/{workflow_name}/start" => start::start_chat;
                GET    "/mozaiks/api/chats/{app_id}/{workflow_name}" => list::list_workflow_chats;
                GET    "/mozaiks/api/chats/exists/{app_id}/{workflow_name}/{chat_id}" => exists::chat_exists;
                GET    "/mozaiks/api/chats/meta/{app_id}/{workflow_name}/{chat_id}" => meta::workflow_chat_meta;
                GET    "/mozaiks/ws/{workflow_name}/{app_id}/{chat_id}/{user_id}" => join::join_workflow;
            }
            "sessions", "The runs of a user that have not ended" {
                GET    "/mozaiks/api/sessions/list/{app_id}/{user_id}" => list_sessions::list_workflow_sessions;
                GET    "/mozaiks/api/sessions/recent/{app_id}/{user_id}" => recent_session::recent_session;
                GET    "/mozaiks/api/sessions/oldest/{app_id}/{user_id}" => oldest_session::oldest_session;
            }
            "general chats", "Conversations without a workflow" {
                GET    "/mozaiks/api/general_chats/list/{app_id}/{user_id}" => list_general_chats::list_general_chats;
                GET    "/mozaiks/api/general_chats/transcript/{app_id}/{chat_id}" => general_transcript::general_transcript;
            }
            "answers", "What a user says, and answers to questions of workflows" {
                POST   "/mozaiks/chat/{app_id}/{chat_id}/{user_id}/input" => say::say_to_workflow;
                POST   "/mozaiks/api/user-input/submit" => submit_input::submit_input;
                POST   "/mozaiks/api/ui-tool/submit" => submit_tool::submit_ui_tool;
                POST   "/mozaiks/chat/{app_id}/{chat_id}/component_action" => component_action::component_action;
            }
            "tokens", "The wallets of users" {
                GET    "/mozaiks/api/tokens/{user_id}/balance" => balance::token_balance;
                POST   "/mozaiks/api/tokens/{user_id}/consume" => consume::consume_tokens;
            }
        },
        write_problem: problem::write,
        error_schema: problem::schema,
    }
}
