use std::time::Duration;

use anyhow::{Context as _, Result};
use local_mongod::Member;
use mongodb::Database;
use mongodb::bson::{Bson, Document, doc};

/// A fail point of a member.
#[derive(Debug)]
pub struct FailPoint {
    admin: Database,
    name: &'static str,
    /// How often it had fired before.
    before: i64,
}

impl FailPoint {
    /// Sets it: `mode` says how often, `data` what happens.
    pub async fn set(
        member: &Member,
        name: &'static str,
        mode: impl Into<Bson>,
        data: Document,
    ) -> Result<Self> {
        let admin = admin(member).await?;
        let set = doc! { "configureFailPoint": name, "mode": mode.into(), "data": data };
        let reply = admin.run_command(set).await;
        let before = count(&reply.with_context(|| format!("{name} could not be set"))?)?;
        Ok(Self { admin, name, before })
    }

    /// Waits until it has fired `times` times, but at most `limit`.
    pub async fn met(&self, times: i64, limit: Duration) -> Result<()> {
        let wait = doc! {
            "waitForFailPoint": self.name,
            "timesEntered": self.before + times,
            "maxTimeMS": i64::try_from(limit.as_millis())?,
        };
        // `off` reports whether it fired; this fails only if it has not fired yet.
        let _ = self.admin.run_command(wait).await;
        Ok(())
    }

    /// Removes it, and returns how often it fired.
    pub async fn off(self) -> Result<u64> {
        let off = doc! { "configureFailPoint": self.name, "mode": "off" };
        let met = count(&self.admin.run_command(off).await?)?;
        Ok(u64::try_from(met - self.before)?)
    }
}

fn count(reply: &Document) -> Result<i64> {
    Ok(reply.get_i64("count").or_else(|_| reply.get_i32("count").map(i64::from))?)
}

/// Runs an administrative command on a member.
pub async fn command(member: &Member, command: Document) -> Result<Document> {
    let name = command.keys().next().cloned().unwrap_or_default();
    let reply = admin(member).await?.run_command(command).await;
    reply.with_context(|| format!("the member on port {} refused {name}", member.port()))
}

/// The `admin` database of this member, whatever its role.
async fn admin(member: &Member) -> Result<Database> {
    Ok(mongodb::Client::with_uri_str(member.uri()).await?.database("admin"))
}
