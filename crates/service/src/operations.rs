//! The table of operations: every method and path of the API, and the handler that answers it.
//!
//! A handler says everything else about itself; see [`Operation`](crate::operation::Operation). From the table come the
//! routes, the description of the API, its problems and permissions, and the labels of the metrics.

use std::sync::LazyLock;

use crate::api::{
    apps, artifacts, assistants, calls, chat_sessions as chats, contexts, documents, events,
    exchanges, health, input_requests as inputs, leases, members, messages, metrics, participants,
    presence, resume, resume_points, search, sign_in, stats, streams, tickets, tokens, tool_runs,
    turns, user_input, user_stats, wallets,
};
use crate::operation::Row;

/// Operations about one thing.
pub(crate) struct Section {
    pub(crate) tag: &'static str,
    pub(crate) about: &'static str,
    pub(crate) rows: Vec<Row>,
}

/// Declares sections: the tag, what it is about, and the operations.
macro_rules! sections {
    ($is_admitted:literal; $($tag:literal, $about:literal {
        $($method:ident $path:literal => $handler:ty;)+
    })+) => {
        vec![$(crate::operations::Section {
            tag: $tag,
            about: $about,
            rows: vec![$(crate::operation::Row::of::<$handler>(
                $path,
                axum::http::Method::$method,
                $is_admitted,
            )),+],
        }),+]
    };
}

pub(crate) use sections;

/// The operations that are admitted: they count for the quotas of their caller.
pub(crate) static OPERATIONS: LazyLock<Vec<Section>> = LazyLock::new(|| {
    sections! { true;
        "chat sessions", "The runs of workflows" {
            GET    "/api/chats/{app_id}" => chats::list::list_chats;
            POST   "/api/chats/{app_id}" => chats::create::create_chat;
            GET    "/api/chats/{app_id}/{chat_id}" => chats::get::get_chat;
            PUT    "/api/chats/{app_id}/{chat_id}" => chats::ensure::ensure_chat;
            PATCH  "/api/chats/{app_id}/{chat_id}" => chats::update::update_chat;
            DELETE "/api/chats/{app_id}/{chat_id}" => chats::delete::delete_chat;
            POST   "/api/chats/{app_id}/{chat_id}/undelete" => chats::undelete::undelete_chat;
            POST   "/api/chats/{app_id}/{chat_id}/archive" => chats::archive::archive_chat;
            POST   "/api/chats/{app_id}/{chat_id}/activate" => chats::activate::activate_chat;
            GET    "/api/chats/{app_id}/{chat_id}/meta" => chats::meta::get_chat_meta;
            POST   "/api/chats/{app_id}/{chat_id}/complete" => chats::complete::complete_chat;
            POST   "/api/chats/{app_id}/{chat_id}/pause" => chats::pause::pause_chat;
            POST   "/api/chats/{app_id}/{chat_id}/fail" => chats::fail::fail_chat;
            POST   "/api/chats/{app_id}/{chat_id}/reopen" => chats::reopen::reopen_chat;
            POST   "/api/chats/{app_id}/{chat_id}/fork" => chats::fork::fork_chat;
        }
        "messages", "The messages of a chat, in order" {
            GET    "/api/chats/{app_id}/{chat_id}/messages" => messages::list::list_messages;
            POST   "/api/chats/{app_id}/{chat_id}/messages" => messages::append::append_messages;
            PUT    "/api/chats/{app_id}/{chat_id}/transcript" => messages::synchronise::put_transcript;
            GET    "/api/chats/{app_id}/{chat_id}/messages/{sequence}" => messages::get::get_message;
            PATCH  "/api/chats/{app_id}/{chat_id}/messages/{sequence}" => messages::update::update_message;
            DELETE "/api/chats/{app_id}/{chat_id}/messages/{sequence}" => messages::delete::delete_message;
            GET    "/api/chats/{app_id}/{chat_id}/messages/{sequence}/proof" => messages::proof::get_message_proof;
            GET    "/api/chats/{app_id}/{chat_id}/messages/by-id/{event_id}" => messages::get_by_id::get_message_by_id;
            PATCH  "/api/chats/{app_id}/{chat_id}/messages/by-id/{event_id}" => messages::update_by_id::update_message_by_id;
            DELETE "/api/chats/{app_id}/{chat_id}/messages/by-id/{event_id}" => messages::delete_by_id::delete_message_by_id;
            POST   "/api/chats/{app_id}/{chat_id}/messages/delete" => messages::delete_several::delete_messages;
            POST   "/api/chats/{app_id}/{chat_id}/messages/clear" => messages::clear::clear_messages;
            POST   "/api/chats/{app_id}/{chat_id}/initial-messages" => messages::initial::persist_initial_messages;
            GET    "/api/chats/{app_id}/{chat_id}/history" => messages::history::get_history;
        }
        "search", "Search in what was said" {
            GET    "/api/search/{app_id}" => search::find::search_messages;
        }
        "members", "The users with whom a chat is shared by name" {
            GET    "/api/chats/{app_id}/{chat_id}/members" => members::list::list_members;
            PUT    "/api/chats/{app_id}/{chat_id}/members/{user_id}" => members::put::put_member;
            DELETE "/api/chats/{app_id}/{chat_id}/members/{user_id}" => members::remove::remove_member;
        }
        "participants", "The participants of a chat, and the present users" {
            GET    "/api/chats/{app_id}/{chat_id}/participants" => participants::list::list_participants;
            POST   "/api/chats/{app_id}/{chat_id}/participants" => participants::join::join_chat;
            DELETE "/api/chats/{app_id}/{chat_id}/participants/{user_id}" => participants::leave::leave_chat;
            GET    "/api/chats/{app_id}/{chat_id}/presence" => presence::get::get_presence;
        }
        "events", "The live events of a chat" {
            GET    "/api/chats/{app_id}/{chat_id}/events" => events::listen::listen;
            POST   "/api/chats/{app_id}/{chat_id}/tickets" => tickets::create::create_ticket;
            GET    "/ws/{workflow_name}/{app_id}/{chat_id}/{user_id}" => events::join::join;
        }
        "streams", "Answers that agents are producing, for those who follow a chat" {
            GET    "/api/chats/{app_id}/{chat_id}/streams" => streams::list::list_streams;
            POST   "/api/chats/{app_id}/{chat_id}/streams" => streams::start::start_stream;
            GET    "/api/chats/{app_id}/{chat_id}/streams/{stream_id}" => streams::get::get_stream;
            GET    "/api/chats/{app_id}/{chat_id}/streams/{stream_id}/chunks" => streams::chunks::list_chunks;
            POST   "/api/chats/{app_id}/{chat_id}/streams/{stream_id}/chunks" => streams::append::append_chunks;
            POST   "/api/chats/{app_id}/{chat_id}/streams/{stream_id}/takeover" => streams::take_over::take_over_stream;
            POST   "/api/chats/{app_id}/{chat_id}/streams/{stream_id}/cancel" => streams::cancel::cancel_stream;
            POST   "/api/chats/{app_id}/{chat_id}/streams/{stream_id}/end" => streams::end::end_stream;
            GET    "/api/chats/{app_id}/{chat_id}/ui-message-stream" => streams::resume::resume_ui_stream;
        }
        "input requests", "The questions that workflows wait for, and their answers" {
            GET    "/api/input-requests/{app_id}" => inputs::pending::list_pending_inputs;
            GET    "/api/chats/{app_id}/{chat_id}/input-requests" => inputs::list::list_input_requests;
            POST   "/api/chats/{app_id}/{chat_id}/input-requests" => inputs::request::request_input;
            GET    "/api/chats/{app_id}/{chat_id}/input-requests/{request_id}" => inputs::get::get_input_request;
            POST   "/api/chats/{app_id}/{chat_id}/input-requests/{request_id}/answer" => inputs::answer::answer_input_request;
            POST   "/api/chats/{app_id}/{chat_id}/input-requests/{request_id}/cancel" => inputs::cancel::cancel_input_request;
        }
        "user input", "Inputs of users to a workflow, in the shapes of MozaiksAI" {
            POST   "/chat/{app_id}/{chat_id}/{user_id}/input" => user_input::say::say;
            POST   "/api/user-input/submit" => user_input::submit::submit_user_input;
        }
        "context snapshot", "The variables that an orchestrator resumes from" {
            GET    "/api/chats/{app_id}/{chat_id}/context" => contexts::get::get_context;
            PUT    "/api/chats/{app_id}/{chat_id}/context" => contexts::replace::replace_context;
            PATCH  "/api/chats/{app_id}/{chat_id}/context" => contexts::merge::merge_context;
            GET    "/api/chats/{app_id}/{chat_id}/context/history" => contexts::history::list_context_versions;
            GET    "/api/chats/{app_id}/{chat_id}/context/history/{version}" => contexts::version::get_context_version;
            GET    "/api/chats/{app_id}/{chat_id}/context/diff" => contexts::diff::diff_context;
            POST   "/api/chats/{app_id}/{chat_id}/context/restore" => contexts::restore::restore_context;
        }
        "artifact", "The artifact that the user's panel shows" {
            GET    "/api/chats/{app_id}/{chat_id}/artifact" => artifacts::get::get_artifact;
            PUT    "/api/chats/{app_id}/{chat_id}/artifact" => artifacts::put::put_artifact;
            DELETE "/api/chats/{app_id}/{chat_id}/artifact" => artifacts::delete::delete_artifact;
        }
        "turns", "Turns of a conversation, and how interrupted and failed turns are resumed" {
            POST   "/api/chats/{app_id}/{chat_id}/turns" => turns::append::append_turn;
            GET    "/api/chats/{app_id}/{chat_id}/resume-points" => resume_points::list::list_resume_points;
            DELETE "/api/chats/{app_id}/{chat_id}/resume-points" => resume_points::delete::delete_resume_points;
            GET    "/api/chats/{app_id}/{chat_id}/stacks/{stack_id}" => resume_points::stack::get_stack;
            GET    "/api/chats/{app_id}/{chat_id}/resume" => resume::get::get_resume;
        }
        "leases", "The exclusive right to continue a chat" {
            GET    "/api/chats/{app_id}/{chat_id}/lease" => leases::get::get_lease;
            POST   "/api/chats/{app_id}/{chat_id}/lease" => leases::acquire::acquire_lease;
            DELETE "/api/chats/{app_id}/{chat_id}/lease" => leases::revoke::revoke_lease;
            PUT    "/api/chats/{app_id}/{chat_id}/lease/{fencing_token}" => leases::renew::renew_lease;
            DELETE "/api/chats/{app_id}/{chat_id}/lease/{fencing_token}" => leases::release::release_lease;
        }
        "calls", "The calls of model providers, and their usage" {
            GET    "/api/chats/{app_id}/{chat_id}/calls" => calls::list::list_calls;
            POST   "/api/chats/{app_id}/{chat_id}/calls" => calls::record::record_calls;
            DELETE "/api/chats/{app_id}/{chat_id}/calls/{call_id}" => calls::delete::delete_call;
            POST   "/api/chats/{app_id}/{chat_id}/exchanges" => exchanges::append::append_exchange;
        }
        "tool runs", "The runs of tools, and their sums" {
            GET    "/api/chats/{app_id}/{chat_id}/tool-runs" => tool_runs::list::list_tool_runs;
            POST   "/api/chats/{app_id}/{chat_id}/tool-runs" => tool_runs::record::record_tool_runs;
            GET    "/api/chats/{app_id}/{chat_id}/tool-runs/stats" => tool_runs::stats::get_chat_tool_stats;
        }
        "assistants", "The assistants that chats talk to" {
            GET    "/api/assistants/{app_id}" => assistants::list::list_assistants;
            DELETE "/api/assistants/{app_id}" => assistants::delete_several::delete_assistants;
            GET    "/api/assistants/{app_id}/{assistant_id}" => assistants::get::get_assistant;
            PUT    "/api/assistants/{app_id}/{assistant_id}" => assistants::put::put_assistant;
            PATCH  "/api/assistants/{app_id}/{assistant_id}" => assistants::update::update_assistant;
            DELETE "/api/assistants/{app_id}/{assistant_id}" => assistants::delete::delete_assistant;
            GET    "/api/assistant-tags/{app_id}" => assistants::tags::list_assistant_tags;
        }
        "documents", "Contents under paths: what orchestrators keep besides messages" {
            GET    "/api/documents/{app_id}" => documents::list::list_documents;
            DELETE "/api/documents/{app_id}" => documents::delete_several::delete_documents;
            GET    "/api/documents/{app_id}/{*path}" => documents::get::get_document;
            PUT    "/api/documents/{app_id}/{*path}" => documents::put::put_document;
            POST   "/api/documents/{app_id}/{*path}" => documents::append::append_document;
            DELETE "/api/documents/{app_id}/{*path}" => documents::delete::delete_document;
            GET    "/api/document-namespaces/{app_id}" => documents::namespaces::list_document_namespaces;
            GET    "/api/document-events/{app_id}" => documents::listen::listen_to_documents;
        }
        "stats", "Statistics and costs of workflows and users, for the roles service and operator" {
            GET    "/api/stats" => stats::apps::list_app_stats;
            GET    "/api/stats/{app_id}" => stats::workflows::get_app_stats;
            GET    "/api/stats/{app_id}/{workflow_name}" => stats::workflow::get_workflow_stats;
            GET    "/api/stats/{app_id}/{workflow_name}/series" => stats::series::get_workflow_series;
            GET    "/api/stats/{app_id}/{workflow_name}/chats" => stats::chats::list_chat_stats;
            GET    "/api/agent-stats/{app_id}" => stats::shares::get_agent_stats;
            GET    "/api/model-stats/{app_id}" => stats::shares::get_model_stats;
            GET    "/api/tool-stats/{app_id}" => stats::tools::get_app_tool_stats;
            GET    "/api/user-stats/{app_id}" => user_stats::list::list_user_stats;
            GET    "/api/user-stats/{app_id}/{user_id}" => user_stats::get::get_user_stats;
            GET    "/api/user-stats/{app_id}/{user_id}/series" => user_stats::series::get_user_series;
        }
        "apps", "The registry of apps, for the role operator" {
            GET    "/api/apps" => apps::list::list_apps;
            GET    "/api/apps/{app_id}" => apps::get::get_app;
            PUT    "/api/apps/{app_id}" => apps::register::register_app;
            PATCH  "/api/apps/{app_id}" => apps::update::update_app;
            POST   "/api/apps/{app_id}/disable" => apps::disable::disable_app;
            POST   "/api/apps/{app_id}/enable" => apps::enable::enable_app;
            GET    "/api/apps/{app_id}/holds" => apps::list_holds::list_holds;
            PUT    "/api/apps/{app_id}/holds/{chat_id}" => apps::hold_chat::hold_chat;
            DELETE "/api/apps/{app_id}/holds/{chat_id}" => apps::lift_hold::lift_hold;
            POST   "/api/apps/{app_id}/erasures" => apps::erase_user::erase_user;
            GET    "/api/apps/{app_id}/erasures/{pseudonym}" => apps::get_erasure::get_erasure;
            PUT    "/api/apps/{app_id}/revocations/{user_id}" => apps::revoke_tokens::revoke_tokens;
            DELETE "/api/apps/{app_id}/revocations/{user_id}" => apps::lift_revocation::lift_revocation;
        }
        "wallets", "The tokens of users, and every change of their balances" {
            GET    "/api/wallets/{app_id}/{user_id}" => wallets::get::get_wallet;
            POST   "/api/wallets/{app_id}/{user_id}/ensure" => wallets::ensure::ensure_wallet;
            POST   "/api/wallets/{app_id}/{user_id}/credit" => wallets::credit::credit_wallet;
            POST   "/api/wallets/{app_id}/{user_id}/debit" => wallets::debit::debit_wallet;
            GET    "/api/wallets/{app_id}/{user_id}/entries" => wallets::entries::list_wallet_entries;
        }
        "tokens", "Wallets in the shapes of MozaiksAI" {
            GET    "/api/tokens/{user_id}/balance" => tokens::balance::token_balance;
            POST   "/api/tokens/{user_id}/consume" => tokens::consume::consume_tokens;
        }
        "sign-in", "People sign in in a browser, so that pages need no token" {
            GET    "/api/sign-in" => sign_in::begin::begin_sign_in;
            GET    "/api/sign-in/callback" => sign_in::finish::finish_sign_in;
            POST   "/api/sign-out" => sign_in::end::sign_out;
            GET    "/api/session" => sign_in::session::get_session;
        }
        "metrics", "Service metrics" {
            GET    "/metrics" => metrics::get::get_metrics;
        }
    }
});

/// The operations that are answered even to a caller whose quotas are used up: a probe that is refused would stop the
/// process.
pub(crate) static PROBES: LazyLock<Vec<Section>> = LazyLock::new(|| {
    sections! { false;
        "health", "Liveness and readiness" {
            GET    "/api/health/live" => health::live::live;
            GET    "/api/health/ready" => health::ready::ready;
        }
    }
});
