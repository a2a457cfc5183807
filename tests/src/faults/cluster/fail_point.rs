use anyhow::Result;
use local_mongod::Member;
use mongodb::bson::{Bson, Document, doc};

use super::command;

/// A point at which a member is made to fail.
#[derive(Debug)]
pub struct FailPoint<'a> {
    member: &'a Member,
    name: &'static str,
    /// How often it had been met before.
    before: u64,
}

impl<'a> FailPoint<'a> {
    /// Sets it: `mode` says how often, `data` what is to happen.
    pub async fn set(
        member: &'a Member,
        name: &'static str,
        mode: impl Into<Bson>,
        data: Document,
    ) -> Result<Self> {
        let set = doc! { "configureFailPoint": name, "mode": mode.into(), "data": data };
        let before = count(&command(member, set).await?)?;
        Ok(Self { member, name, before })
    }

    /// Removes it, and answers how often it was met.
    pub async fn off(self) -> Result<u64> {
        let off = doc! { "configureFailPoint": self.name, "mode": "off" };
        let met = count(&command(self.member, off).await?)?;
        Ok(met.saturating_sub(self.before))
    }
}

fn count(reply: &Document) -> Result<u64> {
    let count = reply.get_i64("count").or_else(|_| reply.get_i32("count").map(i64::from))?;
    Ok(u64::try_from(count)?)
}
