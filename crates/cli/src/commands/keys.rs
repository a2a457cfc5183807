use std::io::Write as _;

use anyhow::{Context as _, anyhow, bail, ensure};
use chrono::{DateTime, Days, SecondsFormat, Utc};
use clap::{Subcommand, ValueEnum};
use persistence::mongo::MongoStore;
use persistence::{AccessKeys as _, AuditLog as _};
use records::{
    AccessKey, AccessKeyId, AccessKeyKind, AccessKeyLabel, AccessKeySecret, Actor, AppId,
    AuditAction, Bearer, Clock as _, NewAccessKey, SystemClock, TeamId, UserId,
};
use serde_json::json;

use crate::backend::Backend;
use crate::output::Output;
use crate::settings::Settings;
use crate::terminal;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A program sends its key as it would send a token: Authorization: Bearer <key>.\n\
                        Running services notice a revoked key within limits.recheck_ms. Examples:\n  \
                        reprise keys create --role service --app acme_corp --label 'nightly import'\n  \
                        reprise keys list\n  \
                        reprise keys revoke 0123456789abcdef"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    output: Output,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Create a key, and print it. It cannot be shown again: only its SHA-256 is stored.
    Create(CreateArguments),
    /// List the keys, valid or not, without their secrets. A key is listed for 30 days after it has expired.
    List {
        /// List the sessions of people who have signed in in a browser instead.
        #[arg(long)]
        sign_ins: bool,
    },
    /// Revoke a key for good.
    Revoke {
        /// The 16 digits after `reprise_` at the beginning of the key.
        id: AccessKeyId,
    },
}

#[derive(Debug, clap::Args)]
struct CreateArguments {
    /// What the bearer of the key is.
    #[arg(long, value_enum)]
    role: KeyRole,
    /// The person whom the key stands for; a service has none.
    #[arg(long, value_name = "USER", required_if_eq_any([
        ("role", "operator"), ("role", "support"), ("role", "user"),
    ]))]
    user: Option<UserId>,
    /// The team that the user acts for.
    #[arg(long, value_name = "TEAM", requires = "user")]
    team: Option<TeamId>,
    /// An app that the bearer may use. Repeat it for several.
    #[arg(long = "app", value_name = "APP", required_unless_present = "all_apps")]
    apps: Vec<AppId>,
    /// The bearer may use every app.
    #[arg(long, conflicts_with = "apps")]
    all_apps: bool,
    /// A name by which people recognise the key.
    #[arg(long)]
    label: Option<AccessKeyLabel>,
    /// How many days the key is valid.
    #[arg(long, value_name = "DAYS", default_value_t = 90, value_parser = clap::value_parser!(u32).range(1..=3_660))]
    days: u32,
    /// The key never expires.
    #[arg(long, conflicts_with = "days")]
    never_expires: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum KeyRole {
    /// A program that acts for whole apps.
    Service,
    /// A person who monitors the service and manages the registry of apps.
    Operator,
    /// A person who helps the users of apps.
    Support,
    /// A person.
    User,
}

impl KeyRole {
    /// Returns the role as a claim of a token; `None` for a user.
    pub(crate) fn claim(self) -> Option<&'static str> {
        match self {
            Self::Service => Some("service"),
            Self::Operator => Some("operator"),
            Self::Support => Some("support"),
            Self::User => None,
        }
    }
}

/// Keys in one page.
const PAGE: usize = 1_000;

/// Runs a command on access keys.
pub(crate) async fn run(arguments: Arguments, settings: &Settings) -> anyhow::Result<()> {
    Backend::with_store(settings, async |store| execute(arguments, store).await).await
}

async fn execute(arguments: Arguments, store: &MongoStore) -> anyhow::Result<()> {
    let Arguments { output, verb } = arguments;
    match verb {
        Verb::Create(arguments) => create(arguments, output, store).await,
        Verb::List { sign_ins } => {
            let kind = if sign_ins { AccessKeyKind::SignIn } else { AccessKeyKind::Api };
            list(kind, output, store).await
        }
        Verb::Revoke { id } => revoke(&id, output, store).await,
    }
}

async fn create(
    arguments: CreateArguments,
    output: Output,
    store: &MongoStore,
) -> anyhow::Result<()> {
    let now = SystemClock.now();
    let mut random = [0; AccessKeySecret::RANDOM_BYTES];
    getrandom::fill(&mut random).context("the system has no random bytes")?;
    let secret = AccessKeySecret::from_random(&random);
    let key = arguments.key(secret.clone(), now)?;
    let created = store.create_access_key(Some(&Actor::command_line()), key).await?;
    let expiry = created.expires_at.map_or("never expires".to_owned(), |at| {
        format!("expires at {}", at.to_rfc3339_opts(SecondsFormat::Secs, true))
    });
    let id = &created.id;
    writeln!(std::io::stderr(), "Key {id} {expiry}. Store it now: it cannot be shown again.")?;
    let object = || {
        let mut object = as_object(&created);
        object["key"] = secret.expose().into();
        object
    };
    output.print(object, || secret.expose().to_owned())
}

impl CreateArguments {
    fn key(self, secret: AccessKeySecret, now: DateTime<Utc>) -> anyhow::Result<NewAccessKey> {
        ensure!(
            self.apps.len() <= AccessKey::MAX_APPS,
            "a key is for at most {} apps, or for --all-apps",
            AccessKey::MAX_APPS
        );
        let person = self.user.ok_or_else(|| anyhow!("this role needs --user"));
        if matches!(self.role, KeyRole::Service) && person.is_ok() {
            bail!("a service is no person: leave --user out, or use --role user");
        }
        if self.team.is_some() && !matches!(self.role, KeyRole::User) {
            bail!("only a user acts for a team: leave --team out, or use --role user");
        }
        let bearer = match self.role {
            KeyRole::Service => Bearer::Service,
            KeyRole::Operator => Bearer::Operator { user_id: person? },
            KeyRole::Support => Bearer::Support { user_id: person? },
            KeyRole::User => Bearer::User { user_id: person?, team_id: self.team },
        };
        let expires_at = now + Days::new(self.days.into());
        Ok(NewAccessKey {
            secret,
            kind: AccessKeyKind::Api,
            label: self.label,
            bearer,
            apps: (!self.all_apps).then_some(self.apps),
            expires_at: (!self.never_expires).then_some(expires_at),
        })
    }
}

async fn list(kind: AccessKeyKind, output: Output, store: &MongoStore) -> anyhow::Result<()> {
    store.record_registry_read(&Actor::command_line(), None, AuditAction::ListKeys).await?;
    let mut after = None;
    loop {
        let page = store.list_access_keys(kind, PAGE, after.as_ref()).await?;
        for key in &page.keys {
            output.print(|| as_object(key), || line(key, SystemClock.now()))?;
        }
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}

async fn revoke(id: &AccessKeyId, output: Output, store: &MongoStore) -> anyhow::Result<()> {
    let key = store.revoke_access_key(Some(&Actor::command_line()), id).await?;
    let key = key.with_context(|| format!("there is no key {id}; see `reprise keys list`"))?;
    output.print(|| as_object(&key), || line(&key, SystemClock.now()))
}

/// Returns a key as one line for people.
fn line(key: &AccessKey, now: DateTime<Utc>) -> String {
    let state = match (key.revoked_at, key.is_valid(now)) {
        (Some(_), _) => "revoked",
        (None, true) => "valid",
        (None, false) => "expired",
    };
    let day = |at: Option<DateTime<Utc>>| {
        at.map_or("never".to_owned(), |at| at.format("%Y-%m-%d").to_string())
    };
    let apps = key.apps.as_ref().map_or("*".to_owned(), |apps| {
        apps.iter().map(AppId::as_str).collect::<Vec<_>>().join(",")
    });
    let person = key.bearer.person().map_or("-", UserId::as_str);
    let label = key.label.as_ref().map_or("", AccessKeyLabel::as_str);
    let line = format!(
        "{}  {state:<7}  {:<8}  {person}  {apps}  expires {}  used {}  {label}",
        key.id,
        key.bearer.role(),
        day(key.expires_at),
        day(key.last_used_at),
    );
    terminal::safe_line(line.trim_end()).into_owned()
}

/// Returns a key as one JSON object for programs.
fn as_object(key: &AccessKey) -> serde_json::Value {
    let team = match &key.bearer {
        Bearer::User { team_id, .. } => team_id.as_ref(),
        _ => None,
    };
    json!({
        "id": key.id.as_str(),
        "role": key.bearer.role(),
        "user_id": key.bearer.person(),
        "team_id": team,
        "apps": key.apps,
        "label": key.label,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "last_used_at": key.last_used_at,
        "revoked_at": key.revoked_at,
    })
}
