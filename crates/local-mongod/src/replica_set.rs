//! Makes a replica set of the members and waits until it is complete.

use futures::future::join_all;
use mongodb::Database;
use mongodb::bson::{Bson, Document, doc};
use mongodb::error::ErrorKind;

use crate::data_dir::remembered_port;
use crate::deadline::Deadline;
use crate::start_line::SET_NAME;
use crate::{Error, Member};

const ALREADY_INITIALIZED: i32 = 23;
const NOT_YET_INITIALIZED: i32 = 94;

/// Initiates the set, or updates the addresses of the stored set.
///
/// mongod reads a stored configuration in the background, and first looks for itself at the old address.
/// A process that has the old port and does not respond delays it for 30 seconds. Initiating a set
/// meanwhile would make it exit, so only a new set is initiated.
pub(crate) async fn configure(members: &[Member], deadline: Deadline) -> Result<(), Error> {
    let admin = members[0].admin().await?;
    let is_new = remembered_port(members[0].dbpath()).is_none();
    loop {
        if let Some(config) = stored_config(&admin).await? {
            return relocate(&admin, config, members).await;
        }
        if is_new && initiate(&admin, members).await? {
            return Ok(());
        }
        deadline.pause(|| "the stored replica set configuration".to_owned()).await?;
    }
}

/// Waits until one member is primary, all others are secondaries, and all have an entry in common.
///
/// The oplog of a new secondary begins where its copy of the data ends. Without a common entry a
/// secondary that lags could sync from the primary only. If the primary were lost at that moment, no
/// write would reach a majority again.
pub(crate) async fn until_whole(members: &[Member], deadline: Deadline) -> Result<(), Error> {
    loop {
        for member in members {
            until_active(member, deadline).await?;
        }
        let roles = join_all(members.iter().map(role)).await;
        let mut primaries = members.iter().zip(roles).filter(|(_, r)| *r == Some(Role::Primary));
        if let (Some((primary, _)), None) = (primaries.next(), primaries.next())
            && has_reached_all(primary, members.len()).await
        {
            return Ok(());
        }
        deadline.pause(|| "a primary that all others follow".to_owned()).await?;
    }
}

/// Returns whether an entry that the primary adds to its oplog reaches every member.
async fn has_reached_all(primary: &Member, members: usize) -> bool {
    let members = i32::try_from(members).unwrap_or(i32::MAX);
    let note = doc! {
        "appendOplogNote": 1,
        "data": { "msg": "the set is whole" },
        "writeConcern": { "w": members, "wtimeout": 1000 },
    };
    let Ok(admin) = primary.admin().await else { return false };
    let reply = admin.run_command(note).await;
    reply.is_ok_and(|reply| !reply.contains_key("writeConcernError"))
}

/// Waits until a member is primary or secondary.
pub(crate) async fn until_active(member: &Member, deadline: Deadline) -> Result<(), Error> {
    while role(member).await.is_none() {
        let awaited = || format!("the member on port {} to join the set", member.port());
        deadline.pause(awaited).await?;
    }
    Ok(())
}

/// The role of an active member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Primary,
    Secondary,
}

/// Returns the role of a member, or `None` while it has none or does not answer.
pub(crate) async fn role(member: &Member) -> Option<Role> {
    let hello = member.admin().await.ok()?.run_command(doc! { "hello": 1 }).await.ok()?;
    let is = |field| hello.get_bool(field).unwrap_or(false);
    if is("isWritablePrimary") {
        return Some(Role::Primary);
    }
    is("secondary").then_some(Role::Secondary)
}

async fn stored_config(admin: &Database) -> Result<Option<Document>, Error> {
    match admin.run_command(doc! { "replSetGetConfig": 1 }).await {
        Ok(mut reply) => match reply.remove("config") {
            Some(Bson::Document(config)) => Ok(Some(config)),
            _ => Ok(None),
        },
        Err(error) if code(&error) == Some(NOT_YET_INITIALIZED) => Ok(None),
        Err(error) => Err(Error::command("replSetGetConfig", error)),
    }
}

/// Returns false if the set turns out to be initiated already.
async fn initiate(admin: &Database, members: &[Member]) -> Result<bool, Error> {
    let config = doc! {
        "_id": SET_NAME,
        "version": 1,
        "members": (0_i32..).zip(members).map(|(id, member)| doc! { "_id": id, "host": member.host() })
            .collect::<Vec<_>>(),
        // A failover takes 2 seconds instead of 10.
        "settings": { "electionTimeoutMillis": 1000, "heartbeatIntervalMillis": 200 },
    };
    match admin.run_command(doc! { "replSetInitiate": config }).await {
        Ok(_) => Ok(true),
        Err(error) if code(&error) == Some(ALREADY_INITIALIZED) => Ok(false),
        Err(error) => Err(Error::command("replSetInitiate", error)),
    }
}

/// Corrects the hosts of a stored configuration after ports have changed.
///
/// Forced, because no member can become primary under a name that is not its own.
async fn relocate(admin: &Database, mut config: Document, members: &[Member]) -> Result<(), Error> {
    let stored = config.get_array_mut("members").map(std::mem::take).unwrap_or_default();
    if stored.len() != members.len() {
        return Err(Error::SetSize { stored: stored.len(), asked: members.len() });
    }
    let hosts = members.iter().map(|member| Bson::String(member.host()));
    let moved: Vec<_> = stored.iter().cloned().zip(hosts).map(with_host).collect();
    if moved == stored {
        return Ok(());
    }
    let version = config.get_i32("version").unwrap_or(1);
    config.insert("version", version.saturating_add(1));
    config.insert("members", moved);
    let command = doc! { "replSetReconfig": config, "force": true };
    let reply = admin.run_command(command).await;
    reply.map_err(|error| Error::command("replSetReconfig", error))?;
    Ok(())
}

fn with_host((member, host): (Bson, Bson)) -> Bson {
    let Bson::Document(mut member) = member else {
        return member;
    };
    member.insert("host", host);
    Bson::Document(member)
}

pub(crate) fn code(error: &mongodb::error::Error) -> Option<i32> {
    match *error.kind {
        ErrorKind::Command(ref error) => Some(error.code),
        _ => None,
    }
}
