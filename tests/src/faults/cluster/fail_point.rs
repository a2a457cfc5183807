use std::time::Duration;

use anyhow::{Context as _, Result};
use local_mongod::Member;
use mongodb::Database;
use mongodb::bson::{Bson, Document, doc};

/// A point at which a member is made to fail.
#[derive(Debug)]
pub struct FailPoint {
    admin: Database,
    name: &'static str,
    /// How often it had been met before.
    before: i64,
}

impl FailPoint {
    /// Sets it: `mode` says how often, `data` what is to happen.
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

    /// Waits until it has been met so often, but no longer than `patience`.
    pub async fn met(&self, times: i64, patience: Duration) -> Result<()> {
        let wait = doc! {
            "waitForFailPoint": self.name,
            "timesEntered": self.before + times,
            "maxTimeMS": i64::try_from(patience.as_millis())?,
        };
        // Whether it was met is what `off` answers; this fails only where that is not yet so.
        let _ = self.admin.run_command(wait).await;
        Ok(())
    }

    /// Removes it, and answers how often it was met.
    pub async fn off(self) -> Result<u64> {
        let off = doc! { "configureFailPoint": self.name, "mode": "off" };
        let met = count(&self.admin.run_command(off).await?)?;
        Ok(u64::try_from(met - self.before)?)
    }
}

fn count(reply: &Document) -> Result<i64> {
    Ok(reply.get_i64("count").or_else(|_| reply.get_i32("count").map(i64::from))?)
}

/// Has a member carry out an administrative command.
pub async fn command(member: &Member, command: Document) -> Result<Document> {
    let name = command.keys().next().cloned().unwrap_or_default();
    let reply = admin(member).await?.run_command(command).await;
    reply.with_context(|| format!("the member on port {} refused {name}", member.port()))
}

/// The `admin` database of this member, whatever its role.
async fn admin(member: &Member) -> Result<Database> {
    Ok(mongodb::Client::with_uri_str(member.uri()).await?.database("admin"))
}
