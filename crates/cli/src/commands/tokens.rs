use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use clap::{Args, Subcommand};
use persistence::mongo::MongoStore;
use persistence::{AuditLog as _, Revocations as _};
use records::{
    Actor, AppId, AuditAction, Clock as _, NewRevocation, Revocation, RevocationKey,
    RevocationTarget, SystemClock, TeamId, TokenId, UserId, truncated,
};
use serde_json::{Value, json};
use service::NewToken;

use crate::backend::Backend;
use crate::commands::keys::KeyRole;
use crate::output::Output;
use crate::settings::Settings;
use crate::terminal::safe_line;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A running service refuses a revoked token within limits.recheck_ms, and ends its \
                  streams. Examples:\n  \
                  reprise tokens mint --user alice --app acme_corp --expires-in 8h\n  \
                  reprise tokens revoke --id 4f1c9d --expires 2026-12-01T00:00:00Z\n  \
                  reprise tokens revoke --user alice --issued-before now\n  \
                  reprise tokens revoke --user mallory --app acme_corp\n  \
                  reprise tokens lift --user mallory --app acme_corp"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    output: Output,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make a token with the key of an issuer, and print it. It needs no database, and leaves no entry in the audit log.
    Mint(Mint),
    /// Refuse a token, or the tokens of a user, although they are valid.
    Revoke(Revoke),
    /// Accept revoked tokens again.
    Lift(Target),
    /// List the revocations in force, one on each line, the oldest first.
    List,
}

#[derive(Debug, Args)]
struct Mint {
    /// The user, or the name of a program: the claim `sub`.
    #[arg(long)]
    user: UserId,

    /// What the bearer is.
    #[arg(long, value_enum, default_value_t = KeyRole::User)]
    role: KeyRole,

    /// The team that the user acts for.
    #[arg(long)]
    team: Option<TeamId>,

    /// An app that the bearer may use. Repeat it for several.
    #[arg(long = "app", value_name = "APP", required_unless_present = "all_apps")]
    apps: Vec<AppId>,

    /// The bearer may use every app.
    #[arg(long, conflicts_with = "apps")]
    all_apps: bool,

    /// How long the token is valid, such as 90s, 15m, 8h or 30d; at most 366d.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = lifetime)]
    expires_in: Duration,

    /// The file with the private key, or with the secret of HS256; by default auth.secret.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,

    /// The name of the key, if `auth.key_file` or `auth.jwks_url` lists several.
    #[arg(long)]
    kid: Option<String>,
}

#[derive(Debug, Args)]
struct Revoke {
    #[command(flatten)]
    target: Target,

    /// When the token expires: the revocation is kept until then, or else for 366 days.
    #[arg(long, value_name = "TIME", conflicts_with = "user", value_parser = time)]
    expires: Option<DateTime<Utc>>,

    /// Refuse only tokens that were issued at this time or before it; `now` lets the user sign in again.
    /// Without it every token of the user is refused until the revocation is lifted.
    #[arg(long, value_name = "TIME", conflicts_with = "id", value_parser = time)]
    issued_before: Option<DateTime<Utc>>,
}

/// Whose tokens are meant.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("whose").required(true).args(["id", "user"]))]
struct Target {
    /// One token, by its claim `jti`.
    #[arg(long, value_name = "JTI")]
    id: Option<TokenId>,

    /// Every token of a user or a program, by its claim `sub`.
    #[arg(long)]
    user: Option<UserId>,

    /// Only in this app; by default in every app.
    #[arg(long)]
    app: Option<AppId>,
}

/// Revocations in one page.
const PAGE: usize = 1_000;

/// Runs a command on the revoked tokens.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<()> {
    if let Verb::Mint(mint) = &arguments.verb {
        let token = mint.token().mint(&settings.auth).await?;
        return arguments.output.print(|| json!({ "token": token }), || token.clone());
    }
    Backend::with_store(settings, async |store| execute(arguments, store).await).await
}

async fn execute(arguments: &Arguments, store: &MongoStore) -> anyhow::Result<()> {
    let Arguments { output, verb } = arguments;
    match verb {
        // It needs no store.
        Verb::Mint(_) => Ok(()),
        Verb::Revoke(Revoke { target, expires, issued_before }) => {
            let (issued_until, expires_at) = (*issued_before, *expires);
            let new = NewRevocation { key: target.key()?, issued_until, expires_at };
            print(*output, &store.revoke(&Actor::command_line(), new).await?)
        }
        Verb::Lift(target) => {
            if !store.lift_revocation(&Actor::command_line(), &target.key()?).await? {
                bail!(
                    "there is no such revocation; `reprise tokens list` shows them, with their apps"
                );
            }
            Ok(())
        }
        Verb::List => list(*output, store).await,
    }
}

async fn list(output: Output, store: &MongoStore) -> anyhow::Result<()> {
    store.record_registry_read(&Actor::command_line(), None, AuditAction::ListRevocations).await?;
    let now = SystemClock.now();
    let mut after = None;
    loop {
        let page = store.list_revocations(PAGE, after.as_ref()).await?;
        for entry in page.entries.iter().filter(|entry| entry.is_in_force(now)) {
            print(output, &entry.revocation)?;
        }
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}

impl Mint {
    fn token(&self) -> NewToken {
        NewToken {
            subject: self.user.clone(),
            role: self.role.claim(),
            team: self.team.clone(),
            apps: (!self.all_apps).then(|| self.apps.clone()),
            lifetime: self.expires_in,
            key: self.key.clone(),
            kid: self.kid.clone(),
        }
    }
}

impl Target {
    fn key(&self) -> anyhow::Result<RevocationKey> {
        let target = match (&self.id, &self.user) {
            (Some(id), _) => RevocationTarget::Token(id.clone()),
            (None, Some(user)) => RevocationTarget::User(user.clone()),
            (None, None) => bail!("name a token with --id, or a user with --user"),
        };
        Ok(RevocationKey { target, app_id: self.app.clone() })
    }
}

/// Reads a time span of whole seconds, minutes, hours or days.
fn lifetime(text: &str) -> Result<Duration, String> {
    const MAX: Duration = Duration::from_hours(366 * 24);
    let wrong = || String::from("write a time such as 90s, 15m, 8h or 30d, and at most 366d");
    let (count, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        _ => return Err(wrong()),
    };
    let count: u64 = count.parse().map_err(|_| wrong())?;
    let lifetime = Duration::from_secs(count.saturating_mul(seconds));
    if lifetime.is_zero() || lifetime > MAX { Err(wrong()) } else { Ok(lifetime) }
}

/// Reads a time as RFC 3339, or `now`.
fn time(text: &str) -> Result<DateTime<Utc>, String> {
    if text == "now" {
        return Ok(SystemClock.now());
    }
    let time = DateTime::parse_from_rfc3339(text)
        .map(|time| truncated(time.to_utc(), TimeDelta::milliseconds(1)));
    time.map_err(|error| format!("{error}: write `now`, or a time such as 2026-12-01T00:00:00Z"))
}

fn kind_and_id(revocation: &Revocation) -> (&'static str, &str) {
    match &revocation.key.target {
        RevocationTarget::Token(id) => ("token", id.as_str()),
        RevocationTarget::User(id) => ("user", id.as_str()),
    }
}

fn written(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn print(output: Output, revocation: &Revocation) -> anyhow::Result<()> {
    output.print(|| as_object(revocation), || as_text(revocation))
}

fn as_text(revocation: &Revocation) -> String {
    let (kind, id) = kind_and_id(revocation);
    let app = revocation.key.app_id.as_ref().map_or("every app", AppId::as_str);
    let until = revocation.issued_until.map(|until| format!("  issued until {}", written(until)));
    let kept = revocation.expires_at.map_or_else(|| "lifted".to_owned(), written);
    let line = format!("{kind:<5}  {id}  {app}{}  kept until {kept}", until.unwrap_or_default());
    safe_line(&line).into_owned()
}

fn as_object(revocation: &Revocation) -> Value {
    let (kind, id) = kind_and_id(revocation);
    json!({
        "kind": kind,
        "id": id,
        "app_id": revocation.key.app_id,
        "issued_until": revocation.issued_until.map(written),
        "revoked_at": written(revocation.revoked_at),
        "expires_at": revocation.expires_at.map(written),
    })
}
