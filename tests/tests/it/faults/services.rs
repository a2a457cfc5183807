//! Services that stop, hang and return, and chats that grow.

use anyhow::Result;

use super::holds;

#[tokio::test]
async fn a_service_that_is_killed_loses_nothing() -> Result<()> {
    holds("kill-service").await
}

#[tokio::test]
async fn a_service_that_is_asked_to_stop_answers_what_it_has_accepted() -> Result<()> {
    holds("drain-service").await
}

#[tokio::test]
async fn a_service_that_hangs_and_wakes_up_too_late_does_no_harm() -> Result<()> {
    holds("pause-service").await
}

#[tokio::test]
async fn a_chat_may_grow_and_every_limit_is_kept() -> Result<()> {
    holds("growth").await
}

#[tokio::test]
async fn a_service_that_does_not_hear_of_its_server_tells_everything_later() -> Result<()> {
    holds("silent-server").await
}

#[tokio::test]
async fn a_service_whose_change_stream_is_forgotten_tells_everything() -> Result<()> {
    holds("history-lost").await
}

#[tokio::test]
async fn a_service_whose_change_stream_is_forgotten_and_given_up_tells_everything() -> Result<()> {
    holds("history-and-cursor-lost").await
}

#[tokio::test]
async fn a_service_that_is_killed_loses_no_write_of_a_document() -> Result<()> {
    holds("documents-kill-service").await
}
