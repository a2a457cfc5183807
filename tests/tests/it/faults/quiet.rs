//! Faults that callers notice nothing of.

use anyhow::Result;

use super::holds;

#[tokio::test]
async fn without_a_fault_nothing_is_wrong() -> Result<()> {
    holds("control").await?;
    Ok(())
}

#[tokio::test]
async fn without_a_fault_nothing_is_wrong_in_fifty_chats() -> Result<()> {
    holds("control-many-chats").await?;
    Ok(())
}
