//! Members of a replica set that stop, hang and return.

use anyhow::Result;

use super::holds;

#[tokio::test]
async fn a_primary_that_is_killed_loses_nothing() -> Result<()> {
    holds("kill-primary").await
}

#[tokio::test]
async fn a_primary_that_is_killed_loses_no_write_of_a_document() -> Result<()> {
    holds("documents-kill-primary").await
}

#[tokio::test]
#[ignore = "a set of three for half a minute; `.ci/long ignored` and `.ci/long faults` run it"]
async fn a_primary_that_is_killed_ahead_of_the_others_takes_nothing_with_it() -> Result<()> {
    holds("kill-primary-ahead").await
}

#[tokio::test]
async fn a_primary_that_hands_over_loses_nothing() -> Result<()> {
    holds("step-down").await
}

#[tokio::test]
async fn callers_that_disconnect_while_a_primary_hands_over_lock_no_chat() -> Result<()> {
    holds("cancel-callers").await
}

#[tokio::test]
async fn a_primary_that_hangs_and_wakes_up_too_late_loses_nothing() -> Result<()> {
    holds("pause-primary").await
}

#[tokio::test]
#[ignore = "a set of three for half a minute; `.ci/long ignored` and `.ci/long faults` run it"]
async fn a_secondary_that_is_killed_is_not_noticed() -> Result<()> {
    holds("kill-secondary").await
}

#[tokio::test]
async fn secondaries_that_are_all_killed_lose_nothing() -> Result<()> {
    holds("kill-secondaries").await
}

#[tokio::test]
async fn a_service_outlives_its_whole_replica_set() -> Result<()> {
    holds("whole-set-down").await
}

#[tokio::test]
#[ignore = "a set of three for half a minute; `.ci/long ignored` and `.ci/long faults` run it"]
async fn a_primary_that_takes_its_time_to_stop_keeps_nobody_waiting() -> Result<()> {
    holds("terminate-primary").await
}

#[tokio::test]
#[ignore = "a set of three for half a minute; `.ci/long ignored` and `.ci/long faults` run it"]
async fn a_primary_that_hangs_in_a_set_with_the_defaults_loses_nothing() -> Result<()> {
    holds("pause-primary-untuned").await
}

#[tokio::test]
async fn a_primary_that_is_parted_from_all_others_loses_nothing() -> Result<()> {
    holds("isolate-primary").await
}
