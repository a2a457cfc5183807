//! Faults of the members of a replica set.

use anyhow::Result;

use super::holds;

#[tokio::test]
async fn a_primary_that_is_killed_loses_nothing() -> Result<()> {
    holds("kill-primary").await?;
    Ok(())
}
