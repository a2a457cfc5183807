use anyhow::{Context as _, Result};
use futures::future::try_join_all;
use local_mongod::{LocalMongod, Proxy};
use mongodb::bson::{Bson, doc};

use super::{Links, command};
use crate::waiting::until;

/// Starts proxies in front of members, and returns them with the URI of the set.
pub(super) async fn stand_before(set: &LocalMongod, links: Links) -> Result<(Vec<Proxy>, String)> {
    let members = set.members();
    if links == Links::Direct && members.len() > 1 {
        return Ok((Vec::new(), set.uri().to_owned()));
    }
    let proxies = try_join_all(members.iter().map(|member| Proxy::start(member.port()))).await?;
    if let [only] = &proxies[..] {
        let uri = only.uri();
        return Ok((proxies, uri));
    }
    let hosts: Vec<_> = proxies.iter().map(Proxy::host).collect();
    rename(set, &hosts).await?;
    let (_, options) = set.uri().rsplit_once('/').context("the set has no name")?;
    let uri = format!("mongodb://{}/{options}", hosts.join(","));
    Ok((proxies, uri))
}

/// Updates the addresses of the members, also for one another.
async fn rename(set: &LocalMongod, hosts: &[String]) -> Result<()> {
    let primary = set.primary().await.context("there is no primary")?;
    let mut reply = command(primary, doc! { "replSetGetConfig": 1 }).await?;
    let config = reply.get_document_mut("config")?;
    config.insert("version", config.get_i32("version")? + 1);
    for (member, host) in config.get_array_mut("members")?.iter_mut().zip(hosts) {
        if let Bson::Document(member) = member {
            member.insert("host", host);
        }
    }
    let config = config.clone();
    command(primary, doc! { "replSetReconfig": config, "force": true }).await?;
    for member in set.members() {
        until("the members to be known elsewhere", async || {
            let hello = command(member, doc! { "hello": 1 }).await?;
            let is_known = hello.get_str("me").is_ok_and(|me| hosts.iter().any(|host| host == me));
            Ok(is_known.then_some(()))
        })
        .await?;
    }
    // Until they have elected a primary.
    Ok(set.restart().await?)
}
