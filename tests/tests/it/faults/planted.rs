//! Errors that are planted for the checker to find.

use anyhow::Result;

use super::holds;

#[tokio::test]
async fn an_append_that_is_acknowledged_and_dropped_is_found() -> Result<()> {
    holds("planted-lost").await
}

#[tokio::test]
async fn an_append_that_is_stored_again_under_another_id_is_found() -> Result<()> {
    holds("planted-doubled").await
}

#[tokio::test]
async fn an_append_that_is_acknowledged_with_another_sequence_is_found() -> Result<()> {
    holds("planted-misplaced").await
}

#[tokio::test]
async fn a_message_that_is_removed_from_the_database_is_found() -> Result<()> {
    holds("planted-removed").await
}

#[tokio::test]
async fn a_message_that_is_doubled_in_the_database_is_found() -> Result<()> {
    holds("planted-repeated").await
}

#[tokio::test]
async fn two_messages_that_are_swapped_in_the_database_are_found() -> Result<()> {
    holds("planted-swapped").await
}

#[tokio::test]
async fn an_append_that_is_stored_and_said_to_be_refused_is_found() -> Result<()> {
    holds("planted-denied").await
}

#[tokio::test]
async fn a_message_that_is_changed_in_the_database_is_found() -> Result<()> {
    holds("planted-changed").await
}

#[tokio::test]
async fn an_event_that_is_left_out_is_found() -> Result<()> {
    holds("planted-untold").await
}

#[tokio::test]
async fn an_event_that_is_told_twice_is_found() -> Result<()> {
    holds("planted-told-twice").await
}

#[tokio::test]
async fn an_event_that_is_told_after_the_next_one_is_found() -> Result<()> {
    holds("planted-told-late").await
}
