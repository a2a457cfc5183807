//! Chat sessions in the shapes of Discobot: messages of the AI SDK, and one completion at a time.

use super::{Adapter, Below, OneSession, Root};
use crate::operations::sections;

mod answer;
mod answer_streams;
mod cancel;
mod clear;
mod completion;
mod delete_session;
mod find;
mod finish;
mod get_session;
mod list_messages;
mod merge;
mod message;
mod problem;
mod put_session;
mod question;
mod session_file;
mod start;
mod status;
mod update_message;

/// Returns the adapter.
pub(super) fn adapter() -> Adapter {
    Adapter {
        name: "discobot",
        root: Root { dropped: "", kept: "/sessions/", below: Below::App, is_free: false },
        one_session: Some(OneSession {
            prefix: "/chat",
            below: |config| format!("/sessions/{}", config.discobot.session_id()),
        }),
        token_cookies: &[],
        title: "Chat sessions of Discobot, served by Reprise",
        sections: sections! { true;
            "messages", "What was said in a session" {
                GET    "/discobot/{app_id}/sessions/{chat_id}/chat" => list_messages::list_session_messages;
                DELETE "/discobot/{app_id}/sessions/{chat_id}/chat" => clear::clear_session;
                PATCH  "/discobot/{app_id}/sessions/{chat_id}/messages/{message_id}" => update_message::update_session_message;
            }
            "completions", "Answers of an agent, one at a time" {
                POST   "/discobot/{app_id}/sessions/{chat_id}/chat" => start::start_completion;
                GET    "/discobot/{app_id}/sessions/{chat_id}/chat/status" => status::get_completion_status;
                POST   "/discobot/{app_id}/sessions/{chat_id}/chat/cancel" => cancel::cancel_completion;
                POST   "/discobot/{app_id}/sessions/{chat_id}/chat/{request_id}/finish" => finish::finish_completion;
            }
            "questions", "What an agent asks a person" {
                GET    "/discobot/{app_id}/sessions/{chat_id}/chat/question" => question::get_question;
                POST   "/discobot/{app_id}/sessions/{chat_id}/chat/answer" => answer::answer_question;
            }
            "sessions", "The records of sessions" {
                GET    "/discobot/{app_id}/sessions/{chat_id}" => get_session::get_session;
                PUT    "/discobot/{app_id}/sessions/{chat_id}" => put_session::put_session;
                DELETE "/discobot/{app_id}/sessions/{chat_id}" => delete_session::delete_session;
            }
        },
        write_problem: problem::write,
        error_schema: problem::schema,
    }
}
