use std::io::{self, BufWriter, Write};

use anyhow::Context as _;
use chrono::{DateTime, SecondsFormat, Utc};
use persistence::mongo::MongoStore;
use persistence::{AuditFilter, AuditLog as _};
use records::{Actor, AppId, AuditAction, AuditEntry, ChatId, Pseudonym, UserId};
use serde_json::json;

use crate::backend::Backend;
use crate::output::{Output, stdout};
use crate::settings::Settings;
use crate::time_argument::time;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "An entry holds no names: a person is a pseudonym, which --user computes from \
                        the person's key, as long as the key exists. Examples:\n  \
                        reprise audit --app acme_corp --since 2026-11-01\n  \
                        reprise audit --app acme_corp --user alice\n  \
                        reprise audit --app acme_corp --chat chat_abc123 --json > audit.jsonl"
)]
pub(crate) struct Arguments {
    /// Only entries of this app.
    #[arg(long)]
    app: Option<AppId>,
    /// Only entries about this chat.
    #[arg(long)]
    chat: Option<ChatId>,
    /// Only entries about this person, as actor or as subject: those of the app of --app, or else those that name no app.
    #[arg(long)]
    user: Option<UserId>,
    /// Only entries of this action, such as `put_member` or `read_chat`.
    #[arg(long)]
    action: Option<AuditAction>,
    /// Only entries at or after this time: a date in UTC, or a time such as 2026-11-01T08:00:00Z.
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<DateTime<Utc>>,
    /// Only entries before this time.
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<DateTime<Utc>>,
    /// The most entries to print; 0 for all.
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    limit: usize,
    #[command(flatten)]
    output: Output,
}

/// Entries in one page.
const PAGE: usize = 1_000;

/// How many digits of a pseudonym a line shows: enough to tell persons apart.
const SHOWN_DIGITS: usize = 12;

/// Prints the audit log, newest entries first.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<()> {
    Backend::with_store(settings, async |store| print_entries(arguments, store).await).await
}

async fn print_entries(arguments: &Arguments, store: &MongoStore) -> anyhow::Result<()> {
    let Arguments { app, chat, user, action, since, until, limit, output } = arguments;
    let person = match user {
        Some(user_id) => {
            let found = store.get_pseudonym(app.as_ref(), user_id).await;
            let Some(person) = found.context("cannot read the audit log")? else {
                // Standard output stays empty, as for a person without entries.
                let whose = app.as_ref().map_or("that name no app", |_| "of the app");
                writeln!(io::stderr(), "no key ties this person to entries {whose}")?;
                return Ok(());
            };
            Some(person)
        }
        None => None,
    };
    let filter = AuditFilter {
        app_id: app.clone(),
        chat_id: chat.clone(),
        person,
        action: *action,
        since: *since,
        until: *until,
    };
    store
        .record_action(&Actor::command_line(), app.as_ref(), None, AuditAction::ReadAuditLog)
        .await?;
    let mut out = BufWriter::new(stdout());
    let mut left = if *limit == 0 { usize::MAX } else { *limit };
    let mut after = None;
    while left > 0 {
        let page = store.list_audit_entries(&filter, left.min(PAGE), after.as_ref()).await;
        let page = page.context("cannot read the audit log")?;
        for entry in &page.entries {
            writeln!(out, "{}", output.line(|| as_json(entry), || as_text(entry))?)?;
        }
        left -= page.entries.len();
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(out.flush()?)
}

/// Returns an entry as a line for people. Nothing in an entry controls a terminal: ids of apps and chats, pseudonyms and
/// networks are printable ASCII, and all else is of a closed list.
fn as_text(entry: &AuditEntry) -> String {
    let person = |person: Option<Pseudonym>| {
        person.map_or("-".to_owned(), |person| person.to_string()[..SHOWN_DIGITS].to_owned())
    };
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    format!(
        "{}  {:<18}  {:<12}  {:<12}  {:<12}  {}  {}  {}",
        entry.at.to_rfc3339_opts(SecondsFormat::Millis, true),
        entry.action.as_str(),
        entry.role.as_str(),
        person(entry.actor),
        person(entry.subject),
        or_none(entry.app_id.as_ref().map(ToString::to_string)),
        or_none(entry.chat_id.as_ref().map(ToString::to_string)),
        or_none(entry.network.map(|network| network.to_string())),
    )
}

fn as_json(entry: &AuditEntry) -> serde_json::Value {
    let text = |person: Option<Pseudonym>| person.map(|person| person.to_string());
    json!({
        "entry_id": entry.entry_id.as_str(),
        "at": entry.at.to_rfc3339_opts(SecondsFormat::Millis, true),
        "app_id": entry.app_id.as_ref().map(AppId::as_str),
        "chat_id": entry.chat_id.as_ref().map(ChatId::as_str),
        "action": entry.action.as_str(),
        "role": entry.role.as_str(),
        "actor": text(entry.actor),
        "subject": text(entry.subject),
        "network": entry.network.map(|network| network.to_string()),
        "http_request_id": entry.request_id.as_ref().map(records::RequestId::as_str),
    })
}
