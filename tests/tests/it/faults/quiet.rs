//! Faults that callers hardly notice.

use anyhow::Result;

use super::holds;

#[tokio::test]
async fn without_a_fault_nothing_is_wrong() -> Result<()> {
    holds("control").await
}

#[tokio::test]
async fn without_a_fault_nothing_is_wrong_in_fifty_chats() -> Result<()> {
    holds("control-many-chats").await
}

#[tokio::test]
async fn an_error_that_may_be_retried_is_not_noticed() -> Result<()> {
    holds("retryable-error").await
}

#[tokio::test]
async fn an_error_that_may_be_retried_and_comes_twice_is_survived() -> Result<()> {
    holds("retryable-error-twice").await
}

#[tokio::test]
async fn a_server_that_says_it_is_stopping_is_not_noticed() -> Result<()> {
    holds("shutdown-error").await
}

#[tokio::test]
async fn a_connection_that_is_cut_is_not_noticed() -> Result<()> {
    holds("cut").await
}

#[tokio::test]
async fn a_connection_that_is_cut_twice_is_survived() -> Result<()> {
    holds("cut-twice").await
}

#[tokio::test]
async fn conflicts_in_the_engine_are_not_noticed() -> Result<()> {
    holds("engine-conflicts").await
}

#[tokio::test]
async fn a_slow_server_keeps_nobody_beyond_the_deadline() -> Result<()> {
    holds("slow-server").await
}

#[tokio::test]
async fn replies_that_break_off_are_not_noticed() -> Result<()> {
    holds("cut-replies").await
}

#[tokio::test]
async fn change_streams_that_fail_again_and_again_are_not_noticed() -> Result<()> {
    holds("stream-lost").await
}
