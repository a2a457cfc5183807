//! Writes whose acknowledgement is lost, or must be delayed.

use anyhow::Result;

use super::holds;

#[tokio::test]
async fn a_lost_acknowledgement_stores_one_message() -> Result<()> {
    holds("lost-ack").await
}

#[tokio::test]
async fn an_acknowledgement_that_is_lost_twice_stores_one_message() -> Result<()> {
    holds("lost-ack-twice").await
}

#[tokio::test]
async fn nothing_is_acknowledged_that_the_server_has_doubts_about() -> Result<()> {
    holds("write-concern-error").await
}

#[tokio::test]
async fn nothing_is_acknowledged_or_shown_before_the_majority_has_it() -> Result<()> {
    holds("stalled-majority").await
}
