#![doc = include_str!("../README.md")]
#![expect(missing_docs, reason = "the name of a promise describes it")]
#![expect(clippy::missing_panics_doc, clippy::unwrap_used, reason = "a broken promise is a panic")]

pub mod chat_sessions;
pub mod erasures;
pub mod lifecycle;
pub mod lists;
pub mod metadata_lists;
pub mod purges;
pub mod stats;
pub mod statuses;
pub mod user_stats;

pub mod appends;
pub mod authors;
pub mod edits;
pub mod exchanges;
pub mod forks;
pub mod initial_messages;
pub mod limits;
pub mod members;
pub mod message_filters;
pub mod messages;
pub mod messages_by_id;
pub mod participants;
pub mod presence;
pub mod races;
pub mod repeats;
pub mod search;

pub mod access_keys;
pub mod app_documents;
pub mod artifacts;
pub mod assistants;
pub mod billing;
pub mod calls;
pub mod changes;
pub mod context_history;
pub mod contexts;
pub mod if_match;
pub mod input_requests;
pub mod leases;
pub mod resumption;
pub mod streams;
pub mod tool_runs;
pub mod turns;

pub mod apps;
pub mod audit;
pub mod revocations;
pub mod tickets;
pub mod wallets;
pub mod webhook_events;

pub mod json;
pub mod metrics;
pub mod ping;
pub mod scopes;

pub mod arbitrary;
pub mod poison;

mod fixture;

use std::sync::Arc;

use persistence::Store;

/// Checks that a store keeps a promise. The guard of the store lives until the check ends.
pub async fn check<Guard>(
    make_store: impl Future<Output = (Arc<dyn Store>, Guard)>,
    promise: impl AsyncFnOnce(Arc<dyn Store>),
) {
    let (store, _guard) = make_store.await;
    promise(store).await;
}

/// Generates a test for every promise of the contract.
///
/// `$make_store` is an async function that returns a new store for each test: a pair of an `Arc<dyn
/// Store>` and a guard. The guard lives until the test ends and cleans up after it. The calling
/// crate needs `tokio`.
#[macro_export]
macro_rules! contract_tests {
    ($make_store:expr) => {
        $crate::contract_tests! {
            $make_store;
            chat_sessions {
                a_new_chat_is_running_and_empty,
                every_field_of_a_new_chat_is_returned,
                every_chat_created_without_an_id_gets_a_new_one,
                a_missing_cache_seed_is_derived_from_app_and_chat,
                derived_cache_seeds_equal_the_published_ones,
                creating_a_chat_that_exists_is_refused_and_changes_nothing,
                a_creation_that_is_repeated_returns_the_chat_and_changes_nothing,
                racing_repeats_of_a_creation_get_one_chat,
                exactly_one_of_sixteen_racing_creators_wins,
                getting_an_unknown_chat_returns_none,
                a_title_or_metadata_past_its_limit_is_refused,
            }
            lifecycle {
                a_change_sets_what_it_names_and_keeps_the_rest,
                the_editor_of_a_chat_is_recorded,
                the_same_change_twice_is_one,
                a_change_past_a_limit_is_refused_and_changes_nothing,
                of_callers_who_have_seen_the_same_version_one_changes_the_chat,
                racing_changes_of_different_fields_are_all_made,
                a_repeated_creation_is_recognised_after_a_change,
                a_new_message_makes_an_archived_chat_active,
                a_deleted_chat_exists_for_no_call,
                only_those_who_manage_a_deleted_chat_find_it,
                lists_select_by_lifecycle,
                deleting_a_chat_ends_its_lease,
                a_fork_outlives_the_deletion_of_its_source,
                appends_that_race_with_a_deletion_are_stored_or_refused,
                writes_that_race_with_a_deletion_keep_their_rights,
            }
            purges {
                a_purged_chat_exists_for_no_call_and_keeps_its_id,
                a_purge_of_an_ended_chat_changes_no_number_of_the_statistics,
                forks_keep_what_they_share_with_a_purged_chat,
                a_chat_under_hold_is_not_purged,
                chats_under_hold_are_listed_by_id,
                what_retention_does_is_counted,
                retention_purges_what_is_due_and_nothing_else,
                retention_archives_inactive_chats_and_that_is_no_activity,
                a_purge_is_in_the_audit_log,
                appends_that_race_with_a_purge_leave_nothing,
            }
            erasures {
                what_a_person_wrote_in_chats_of_others_is_gone,
                the_unfinished_steps_of_a_chat_with_erased_messages_are_gone,
                the_last_speaker_of_an_erased_message_is_its_role,
                a_fork_of_an_erased_chat_forgets_every_context,
                a_late_repeat_of_an_erased_message_is_a_duplicate,
                the_chats_of_a_person_are_gone_also_in_forks,
                a_chat_of_another_that_a_person_forked_stays_whole,
                what_was_edited_in_a_chat_of_a_person_is_gone_in_forks_of_it,
                the_answers_of_a_person_are_gone,
                chats_under_hold_are_left_and_listed,
                a_wallet_goes_to_the_pseudonym_with_its_balance,
                a_wallet_goes_beside_one_that_the_pseudonym_has_already,
                an_erasure_changes_no_number_of_the_statistics,
                an_erasure_of_one_app_leaves_the_others,
                an_erasure_goes_on_where_it_was_and_its_receipt_names_no_person,
                an_erased_message_cannot_be_edited,
                what_an_erasure_would_find_is_found_before_it_and_not_after,
                what_only_forks_still_show_of_a_person_is_found,
                writes_that_race_with_an_erasure_leave_nothing_of_the_person,
                processes_that_share_an_erasure_count_everything_once,
            }
            statuses {
                only_allowed_status_changes_are_applied,
                setting_the_current_status_changes_nothing,
                ending_a_chat_records_the_seconds_since_its_creation,
                reopening_clears_the_end_and_a_later_end_counts_from_the_creation,
                the_reason_of_a_pause_or_failure_is_kept_until_the_next_move,
                completing_and_reopening_keep_no_reason,
                racing_completions_get_the_same_answer,
                completed_or_failed_wins_when_both_race,
                a_status_change_keeps_all_other_fields,
            }
            webhook_events {
                an_ended_chat_leaves_one_event,
                a_chat_that_goes_on_leaves_no_event,
                a_chat_that_ends_twice_leaves_two_events,
                an_event_is_due_again_until_it_is_settled,
                racing_claims_share_the_events,
            }
            lists {
                chats_are_listed_newest_first,
                chats_created_at_the_same_time_are_listed_by_id,
                an_app_without_chats_has_an_empty_list,
                filters_select_the_matching_chats_alone_and_combined,
                a_status_filter_follows_status_changes,
                pages_are_complete_and_do_not_overlap,
                a_page_that_holds_the_last_chat_has_no_next,
                a_message_moves_its_chat_to_the_front_of_the_list_by_activity,
                a_change_of_a_chat_is_no_activity,
                pages_by_activity_are_complete_and_each_is_ordered,
                lists_have_every_order_in_both_directions,
                lists_that_no_index_serves_are_refused,
                every_served_list_has_the_chats_that_its_filters_name,
                chats_are_found_by_a_part_of_their_title,
                chats_created_while_paging_cause_no_gap_and_no_repeat,
                a_cursor_needs_no_chat_at_its_position,
            }
            metadata_lists {
                chats_are_listed_by_a_value_of_their_metadata,
                values_are_compared_whole_and_as_text,
                lists_by_metadata_follow_changes_forks_and_purges,
                lists_by_metadata_have_pages_counts_and_every_other_filter,
                a_list_by_a_key_that_is_not_declared_is_refused,
                lists_by_metadata_that_no_index_serves_are_refused,
                chats_stored_before_a_key_was_declared_are_listed,
                a_person_lists_only_their_own_chats_by_metadata,
                lists_by_metadata_are_right_after_racing_changes,
            }
            turns {
                a_turn_is_written_whole_and_recorded_in_its_chat,
                a_repeated_turn_gets_the_first_answer,
                a_repeated_turn_with_other_content_conflicts,
                only_unfinished_steps_are_kept,
                resume_points_are_listed_by_turn_and_deleted,
                resume_points_come_in_pages,
                a_turn_may_consist_of_steps_only,
                a_turn_id_is_used_once_with_or_without_messages,
                what_is_said_after_a_turn_takes_no_resume_points_with_it,
                a_turn_without_messages_is_always_recognised,
                a_fork_recognises_the_turns_of_its_inherited_messages,
                a_deleted_message_of_a_turn_takes_the_unfinished_steps_with_it,
                every_field_of_a_step_is_returned,
                a_turn_past_a_limit_is_refused,
                racing_repeats_of_a_turn_write_it_once,
                readers_see_racing_turns_whole_or_not_at_all,
                a_turn_larger_than_an_append_is_written_whole,
                a_turn_is_fenced_like_any_write,
                turns_stay_within_their_scope,
            }
            resumption {
                resuming_reads_all_records_of_a_chat,
                a_chat_outside_the_scope_is_not_resumed,
                resuming_reads_one_consistent_state,
                a_resumed_transcript_is_that_of_one_moment,
            }
            leases {
                a_lease_has_one_holder_until_it_is_released,
                revoking_takes_the_lease_that_was_seen_and_no_later_one,
                acquiring_a_lease_is_safe_to_repeat,
                a_repeated_acquisition_gets_its_expired_lease_until_it_is_taken,
                one_of_32_racing_workers_gets_the_lease,
                messages_of_competing_workers_follow_the_order_of_their_tokens,
                an_expired_lease_holds_until_it_is_taken_over,
                a_worker_that_lost_the_lease_changes_nothing,
                edits_of_sealed_messages_are_fenced,
                repeats_of_a_write_under_a_released_lease_succeed,
                a_worker_that_lost_the_lease_gets_fenced_before_a_conflict,
                ending_a_chat_releases_its_lease,
                a_lease_has_limits_and_a_scope,
                an_abandoned_chat_is_interrupted_once,
            }
            appends {
                sequences_count_from_0_through_singles_and_batches,
                a_batch_is_stored_in_its_order,
                every_field_of_a_message_is_returned,
                an_append_updates_the_chat,
                a_chat_has_the_speaker_of_its_last_message,
                a_deleted_message_takes_its_name_with_it,
                a_chat_has_the_last_connector_and_mode_of_its_messages,
                equal_messages_without_ids_are_both_stored,
                missing_event_ids_are_minted_and_unique,
                appending_to_an_unknown_chat_is_refused_and_stores_nothing,
                an_ended_chat_accepts_no_messages,
                paused_and_reopened_chats_accept_messages,
                thirty_messages_of_900_kb_are_all_returned,
            }
            authors {
                a_user_is_the_author_of_every_message_they_append,
                a_service_states_who_wrote_a_message,
                a_user_may_state_only_themselves_as_author,
                the_first_sender_stays_the_author_of_a_message,
                an_author_survives_edits_and_deletion,
                an_edit_and_a_deletion_name_who_made_them,
            }
            repeats {
                appending_twice_with_one_event_id_keeps_one_message,
                a_repeat_may_order_its_keys_differently,
                a_batch_with_repeats_stores_only_new_messages,
                a_repeat_within_one_batch_is_stored_once,
                one_event_id_with_two_bodies_in_one_batch_is_invalid,
                an_event_id_with_another_body_refuses_the_whole_batch,
                similar_but_unequal_bodies_conflict,
                a_value_moved_to_another_field_conflicts,
                repeats_and_conflicts_are_recognised_after_500_further_messages,
                racing_callers_with_one_event_id_store_one_message,
                racing_batches_that_overlap_store_each_message_once,
                one_of_the_racing_bodies_under_one_event_id_wins,
                a_repeat_succeeds_after_the_chat_has_ended,
                an_event_id_belongs_to_its_chat,
            }
            races {
                racing_writers_leave_no_gap_and_no_duplicate,
                readers_see_racing_batches_whole_in_order_or_not_at_all,
                completion_and_racing_appends_agree_on_what_was_stored,
                racing_appends_to_different_chats_are_independent,
                a_refused_append_does_not_affect_racing_appends,
                racing_appends_of_the_largest_messages_are_all_stored,
                racing_edits_of_different_messages_all_survive,
                a_deletion_wins_over_racing_edits,
                readers_see_every_message_once_while_old_ones_grow,
            }
            limits {
                a_message_past_a_limit_is_refused_with_its_batch,
                a_batch_past_a_limit_is_refused,
                two_messages_just_within_the_limits_are_stored,
                a_thousand_messages_in_one_append_are_stored,
                the_deepest_allowed_nesting_is_returned,
                a_chat_may_hold_every_record_at_its_largest_size,
            }
            messages_by_id {
                messages_are_found_by_their_ids_in_the_order_of_the_ids,
                several_messages_are_deleted_by_their_ids,
                messages_that_forks_share_are_found_and_deleted_by_their_ids,
                many_messages_are_deleted_wherever_they_are_stored,
                who_may_not_delete_one_of_the_messages_deletes_none,
                a_deletion_depends_on_the_number_of_messages,
                too_many_ids_are_refused,
                a_deletion_depends_on_the_number_of_messages_also_if_it_finds_none,
            }
            message_filters {
                a_filter_selects_messages_by_their_fields,
                a_filter_sees_what_messages_are_now,
                a_filtered_page_examines_a_bounded_number_of_messages,
                a_filtered_page_examines_a_bounded_number_of_bytes,
            }
            messages {
                old_and_new_messages_are_found_by_their_ids,
                a_range_equals_a_slice_of_the_history,
                pages_of_any_size_join_into_the_history,
                a_chat_without_messages_reads_as_empty,
                the_history_streams_everything_in_order,
                a_history_excludes_messages_appended_while_it_is_read,
                an_edit_while_the_history_is_read_affects_unread_messages_at_most,
                the_history_of_an_unknown_chat_is_one_error,
                a_message_is_found_by_its_sequence,
                a_page_ends_past_4_mib_and_the_next_continues_there,
            }
            edits {
                an_edit_changes_only_the_fields_it_names,
                old_messages_are_edited_like_new_ones,
                a_deleted_message_leaves_a_tombstone_and_no_gap,
                a_tombstone_keeps_only_the_role,
                deleting_twice_gets_the_first_answer,
                a_deleted_or_missing_message_cannot_be_edited,
                a_repeated_original_is_recognised_after_an_edit_or_deletion,
                an_edit_past_a_limit_is_refused_and_changes_nothing,
                adjacent_old_messages_may_grow_to_3_mib_each,
                the_newest_messages_may_grow_to_3_mib_each,
            }
            initial_messages {
                initial_messages_are_appended_in_their_order,
                repeated_initial_messages_without_ids_are_recognised,
                initial_messages_are_recognised_at_the_end_of_a_long_chat,
                structured_content_is_recognised_by_its_structure,
                messages_are_compared_by_role_and_not_by_name,
                initial_messages_with_ids_are_compared_by_id_only,
                only_messages_after_the_overlap_are_stored,
                messages_that_are_no_longer_the_newest_are_stored_again,
                one_of_equal_adjacent_messages_is_kept,
                an_equal_adjacent_message_with_an_id_is_kept,
                messages_after_a_new_one_are_not_compared_with_old_ones,
                messages_after_a_known_one_are_not_compared_with_earlier_ones,
                initial_messages_with_and_without_ids_are_recognised_together,
                eight_racing_callers_store_one_copy,
                an_equal_message_appended_afterwards_is_stored,
                a_deleted_message_is_not_recognised,
                an_edited_message_is_recognised_by_its_current_content,
                an_ended_chat_recognises_known_messages_and_refuses_new_ones,
            }
            context_history {
                a_chat_without_snapshots_has_no_versions,
                every_written_snapshot_is_a_version,
                versions_are_listed_newest_first_in_pages,
                versions_are_returned_with_any_keys,
                a_refused_snapshot_leaves_no_version,
                every_racing_snapshot_gets_its_own_version,
                the_newest_hundred_versions_are_kept,
            }
            forks {
                a_fork_holds_the_messages_of_its_source_below_its_sequence,
                every_field_of_a_fork_is_returned,
                a_fork_of_a_chat_without_messages_has_none,
                a_fork_is_running_and_inherits_no_other_records,
                a_fork_that_is_repeated_returns_the_fork_and_changes_nothing,
                a_fork_has_the_context_snapshot_of_its_sequence,
                source_and_fork_continue_with_separate_counters,
                changes_of_a_source_do_not_affect_its_forks,
                changes_of_a_fork_do_not_affect_its_source,
                forks_of_forks_are_independent,
                each_fork_keeps_the_version_that_it_inherited,
                shared_messages_may_grow_to_3_mib_each,
                a_fork_recognises_inherited_event_ids,
                initial_messages_are_recognised_in_a_fork,
                deleting_a_call_in_a_fork_does_not_affect_its_source,
                a_sequence_the_chat_has_not_reached_is_refused,
                a_fork_under_an_id_that_exists_is_refused_and_changes_nothing,
                exactly_one_of_sixteen_racing_forks_under_one_id_wins,
                forks_of_a_chat_under_writes_are_whole_and_stay_unchanged,
                a_fork_is_counted_as_a_chat_of_its_workflow,
            }
            members {
                members_are_added_changed_and_removed,
                a_chat_has_a_bounded_number_of_members,
                joining_an_open_chat_makes_a_user_a_member,
            }
            participants {
                a_user_who_joins_is_a_participant,
                joining_again_changes_at_most_the_name,
                leaving_removes_the_participant,
                participants_are_listed_oldest_first_page_by_page,
                one_of_the_racing_joins_of_a_user_is_new,
                the_number_of_participants_is_limited,
                participants_of_different_chats_are_independent,
                names_are_never_interpreted,
                a_chat_can_be_joined_in_every_status,
            }
            presence {
                an_announced_user_is_present,
                presence_shows_the_names_of_participants,
                an_announcement_lasts_for_the_stated_time,
                announcing_again_changes_only_the_expiry,
                a_withdrawn_connection_is_not_present,
                presence_stays_within_its_chat_and_app,
                users_beyond_the_listed_ones_are_counted,
                listeners_receive_presence_changes,
            }
            calls {
                every_field_of_a_call_is_returned,
                the_usage_of_a_chat_is_the_sum_of_its_calls,
                a_repeated_call_gets_the_first_answer_and_counts_once,
                a_call_id_with_another_body_refuses_the_whole_batch,
                calls_of_an_unknown_chat_are_refused_and_not_counted,
                a_call_past_a_limit_is_refused_with_its_batch,
                calls_are_listed_newest_first_in_pages,
                calls_are_summarized_for_the_chats_that_the_caller_may_see_them_of,
                an_ended_chat_accepts_calls,
                racing_recordings_count_every_call_once,
            }
            tool_runs {
                every_field_of_a_tool_run_is_returned,
                a_repeated_tool_run_gets_the_first_answer,
                a_run_id_with_another_body_refuses_the_whole_batch,
                a_tool_run_past_a_limit_is_refused_with_its_batch,
                tool_runs_of_an_unknown_chat_are_refused,
                tool_runs_are_listed_in_pages_in_both_directions,
                tool_runs_are_listed_by_tool_success_and_time,
                tool_runs_are_summed_up_by_tool,
                a_tool_run_is_recorded_after_the_end_and_without_the_lease,
                racing_recordings_keep_every_tool_run_once,
                old_tool_runs_are_removed_but_for_those_of_chats_under_hold,
                a_purge_removes_the_tool_runs,
            }
            streams {
                chunks_are_stored_in_order_and_once,
                a_stream_is_started_once,
                racing_writers_of_a_stream_store_every_position_once,
                a_stream_is_within_its_limits,
                a_stream_of_an_unknown_chat_is_refused,
                a_stream_ends_together_with_its_turn,
                a_stream_ends_with_what_its_turn_was_made_of,
                a_stream_ends_without_a_turn,
                the_agent_of_a_cancelled_stream_is_told,
                a_stream_that_is_stopped_ends_whoever_writes_it,
                a_stream_goes_with_the_text_of_its_turn,
                the_next_holder_of_the_lease_takes_a_stream_over,
                a_stream_in_the_place_of_an_abandoned_one_supersedes_it,
                every_group_of_a_stream_is_notified,
                a_chat_that_ends_cancels_its_running_streams,
                a_chat_that_ends_while_a_stream_starts_leaves_none_running,
                a_deleted_chat_takes_no_chunks,
                a_purge_removes_the_streams,
                chunks_after_a_restart_are_stored_at_positions_that_were_void,
                the_end_of_a_stream_is_repeated_after_other_messages,
            }
            changes {
                listeners_receive_every_append,
                listeners_receive_all_other_changes,
                listeners_receive_recorded_and_deleted_calls,
                the_last_change_of_racing_writers_is_received,
                listeners_are_independent,
                every_change_moves_the_head,
                a_head_lists_the_last_edits_of_old_and_new_messages,
                heads_are_limited_to_the_scope,
            }
            contexts {
                a_chat_without_a_snapshot_has_an_empty_one,
                replacing_a_snapshot_keeps_nothing_of_the_old_one,
                merging_follows_the_merge_patch_rules,
                keys_keep_their_order,
                a_snapshot_records_the_sequence_at_which_it_was_taken,
                a_snapshot_updates_the_chat_and_not_its_messages,
                a_chat_accepts_snapshots_in_every_status,
                sixteen_racing_merges_all_survive,
                merges_and_appends_that_race_lose_nothing,
                a_reader_sees_a_large_snapshot_whole_while_it_is_replaced,
                snapshots_grow_large_and_small_again,
                a_snapshot_past_a_limit_is_refused_and_changes_nothing,
                a_merge_that_grows_the_snapshot_past_its_limit_is_refused,
            }
            if_match {
                a_snapshot_is_written_only_if_it_is_the_one_that_was_seen,
                of_callers_who_have_seen_the_same_snapshot_one_writes,
                an_artifact_is_written_only_if_it_is_the_one_that_was_seen,
                a_message_is_edited_only_if_it_is_as_it_was_seen,
                messages_are_appended_only_to_the_chat_that_was_seen,
                of_callers_who_expect_the_same_messages_one_appends,
                a_chats_newest_message_is_taken_by_one_caller,
            }
            artifacts {
                all_six_fields_are_returned,
                missing_fields_stay_missing_and_the_default_time_is_the_write_time,
                a_given_time_is_kept_to_the_millisecond,
                a_later_artifact_replaces_the_whole_old_one,
                clearing_removes_the_artifact_and_is_idempotent,
                an_artifact_updates_the_chat_and_not_its_messages,
                payloads_grow_large_and_small_again,
                a_reader_sees_a_large_artifact_whole_while_it_is_replaced,
                an_artifact_past_a_limit_is_refused_and_changes_nothing,
            }
            input_requests {
                a_question_pauses_its_chat_until_it_is_answered,
                a_deleted_answer_is_gone_from_its_question,
                an_edited_answer_is_edited_in_its_question,
                one_of_many_answers_wins_and_the_others_receive_it,
                rivals_ask_no_more_questions_than_a_chat_may_wait_for,
                racing_answers_and_appends_share_one_order,
                a_repeated_question_gets_its_current_state,
                a_repeated_answer_gets_the_first_result,
                an_answer_must_match_its_question,
                an_answer_for_other_arguments_is_refused,
                a_question_is_cancelled_once,
                a_question_expires,
                ending_a_chat_closes_its_questions,
                a_chat_paused_for_another_reason_stays_paused,
                questions_past_a_limit_are_refused,
                questions_are_listed_newest_first_and_found_by_their_id,
                a_pending_question_is_found_among_any_number_of_closed_ones,
                an_inbox_has_the_pending_questions_of_the_chats_that_one_lists,
                a_head_lists_changed_questions,
                questions_of_unknown_chats_are_not_found,
            }
            assistants {
                an_assistant_is_returned_as_it_was_put,
                putting_the_same_assistant_twice_is_one_change,
                a_put_replaces_the_content_and_keeps_the_owner,
                a_change_of_an_assistant_keeps_what_it_does_not_name,
                an_assistant_past_a_limit_is_refused_and_changes_nothing,
                a_write_of_an_assistant_that_was_seen_otherwise_is_refused,
                of_racing_puts_of_one_assistant_one_creates_it,
                racing_changes_of_an_assistant_are_all_made,
                assistants_of_different_apps_are_independent,
                a_persons_relation_to_an_assistant_decides_what_they_may_do,
                a_list_has_the_assistants_that_a_person_finds,
                assistants_are_listed_by_sort_page_by_page,
                each_field_of_the_filter_selects_assistants,
                tags_are_counted_once_for_each_assistant,
                a_deleted_assistant_is_gone_and_its_id_is_free,
                assistants_are_deleted_by_a_filter,
                every_change_of_an_assistant_writes_one_audit_entry,
                the_assistants_of_an_erased_person_are_gone,
            }
            app_documents {
                a_document_is_returned_as_it_was_put,
                a_put_replaces_the_content,
                the_same_put_twice_is_one,
                of_two_writers_that_have_seen_the_same_one_puts,
                a_write_of_a_document_that_was_seen_otherwise_is_refused,
                a_document_that_is_created_again_has_another_tag,
                appends_follow_one_another,
                an_append_is_recognised_by_its_id,
                an_append_at_another_offset_is_refused_unless_it_was_made,
                racing_appends_are_all_made_once,
                of_racing_puts_of_one_document_one_creates_it,
                a_range_is_a_part_of_the_content,
                a_document_past_a_limit_is_refused_and_changes_nothing,
                documents_of_different_apps_are_independent,
                a_persons_relation_to_a_document_decides_what_they_may_do,
                the_rights_in_a_document_of_a_chat_are_those_in_the_chat,
                the_documents_of_a_chat_go_with_it,
                a_document_of_a_deleted_chat_is_deleted_for_good,
                no_list_has_the_documents_of_a_deleted_chat,
                pages_go_on_across_the_documents_of_deleted_chats,
                a_deletion_by_namespace_leaves_the_documents_of_deleted_chats,
                a_deletion_by_namespace_beside_that_of_the_chat_takes_all_or_none,
                documents_are_listed_by_path_page_by_page,
                a_page_of_contents_ends_early,
                namespaces_are_those_that_have_documents,
                documents_are_deleted_by_their_namespace,
                a_document_that_has_expired_is_gone,
                the_documents_of_an_erased_person_are_gone,
                documents_of_chats_under_hold_are_left_and_the_chats_listed,
                listeners_receive_every_change_of_a_document,
            }
            apps {
                a_registered_app_is_enabled,
                an_app_is_disabled_and_enabled_again,
                setting_the_current_app_status_changes_nothing,
                an_unregistered_app_cannot_be_disabled,
                settings_of_an_app_are_changed_one_by_one_and_reset,
                giving_an_app_the_settings_that_it_has_changes_nothing,
                an_unregistered_app_has_no_settings,
                racing_changes_of_settings_lose_nothing,
                racing_registrations_get_the_same_answer,
                apps_are_listed_by_id_page_by_page,
            }
            revocations {
                a_revocation_is_on_the_list_as_it_was_stored,
                what_covers_new_tokens_is_never_forgotten_and_all_else_is,
                a_repeated_revocation_covers_what_either_covers,
                a_lifted_revocation_is_marked_and_can_be_made_again,
                revocations_of_users_tokens_and_apps_are_independent,
                a_process_that_follows_the_list_misses_no_change,
                racing_revocations_of_one_user_keep_the_widest,
            }
            audit {
                every_change_by_a_manager_writes_one_entry,
                an_action_that_changes_nothing_writes_no_entry,
                a_refused_action_writes_no_entry,
                every_change_of_the_registry_writes_one_entry,
                every_change_of_an_access_key_writes_one_entry,
                every_change_of_a_revocation_writes_one_entry,
                every_recorded_action_writes_one_entry,
                racing_actions_write_one_entry_for_each_change,
                a_person_has_one_pseudonym_in_each_app,
                a_destroyed_pseudonym_belongs_to_nobody,
                repeated_reads_within_a_minute_write_one_entry,
                a_read_that_is_refused_writes_no_entry,
                audit_entries_are_listed_newest_first_page_by_page,
            }
            tickets {
                a_ticket_admits_its_caller_once,
                a_ticket_is_for_one_chat_of_one_app,
                a_narrowed_caller_has_no_other_permission,
                a_ticket_expires,
                one_of_the_racing_callers_with_one_ticket_is_admitted,
                no_ticket_is_issued_for_an_invisible_chat,
            }
            access_keys {
                an_access_key_is_found_as_it_was_created,
                creating_an_access_key_again_changes_nothing,
                an_access_key_is_revoked_once,
                a_revoked_access_key_is_on_the_list_of_revocations,
                the_last_use_of_an_access_key_is_noted,
                access_keys_are_listed_by_kind_page_by_page,
            }
            wallets {
                an_unknown_wallet_is_none_and_accepts_no_change,
                a_new_wallet_holds_its_initial_balance_as_its_first_entry,
                the_initial_balance_counts_only_at_the_creation,
                every_change_is_an_entry_and_the_balance_is_their_sum,
                a_repeat_gets_the_first_answer_and_changes_nothing,
                a_repeat_is_recognised_after_200_further_changes,
                an_entry_id_with_another_amount_or_kind_conflicts,
                a_debit_beyond_the_balance_changes_nothing,
                a_credit_beyond_the_limit_changes_nothing,
                a_change_past_a_limit_is_invalid,
                entries_are_listed_newest_first_page_by_page,
                racing_debits_succeed_for_exactly_the_tokens_left,
                racing_repeats_change_the_wallet_once,
                one_of_the_racing_amounts_under_one_id_wins,
                racing_creations_credit_the_initial_balance_once,
                readers_always_see_a_balance_equal_to_the_sum,
                wallets_of_different_users_and_apps_are_independent,
                a_user_reaches_only_their_own_wallet,
                wallets_are_listed_by_user_page_by_page,
                every_app_with_wallets_is_found,
            }
            scopes {
                no_call_finds_an_unknown_chat,
                no_call_finds_a_chat_of_another_app,
                a_users_relation_to_a_chat_decides_what_they_may_do,
                support_reads_says_and_manages_in_every_chat,
                every_call_without_the_permission_is_refused_and_changes_nothing,
                who_says_something_says_it_as_a_user,
                who_says_something_makes_no_calls_and_gives_no_results,
                who_says_something_edits_and_deletes_only_their_own,
                a_list_shows_what_is_a_persons_own_or_shared_with_them,
            }
            json {
                every_poisonous_value_is_returned_unchanged,
                poison_in_old_messages_is_returned_unchanged,
            }
            ping {
                a_usable_store_answers_a_ping,
            }
            exchanges {
                an_exchange_stores_messages_and_their_call,
                a_repeated_exchange_gets_the_first_answer,
                an_exchange_is_refused_as_a_whole,
                an_exchange_with_an_unknown_chat_changes_nothing,
                a_deleted_call_is_excluded_from_usage_and_keeps_its_messages,
                the_messages_of_a_deleted_call_count_as_edited,
                racing_exchanges_and_appends_share_one_order,
            }
            billing {
                billed_calls_debit_the_wallet,
                an_empty_wallet_pauses_the_chat_and_keeps_the_calls,
                an_unknown_wallet_pays_nothing,
                an_exchange_is_billed_for_its_call,
                racing_calls_never_overdraw_a_wallet,
            }
            search {
                messages_are_found_by_all_of_their_words,
                hits_come_in_pages_newest_first,
                an_edited_or_deleted_text_is_not_found,
                persons_search_what_their_lists_contain,
                nothing_is_found_after_a_right_was_withdrawn,
                a_search_of_one_chat_takes_no_other_filter,
                changes_that_no_process_noticed_are_found_later,
                chats_may_be_indexed_by_several_at_once,
            }
            stats {
                an_unused_workflow_has_empty_stats,
                every_start_and_every_status_change_is_counted,
                a_removed_chat_is_running_no_more,
                calls_add_up_by_workflow_agent_and_model,
                similar_names_are_counted_separately,
                hours_add_up_to_the_total,
                agents_and_models_are_added_up_over_workflows_and_hours,
                users_agents_and_models_have_their_usage_by_hour,
                a_reopened_chat_is_removed_from_the_hour_of_its_end,
                chats_are_listed_newest_first_with_their_usage,
                apps_are_counted_separately_and_listed,
                racing_status_changes_and_calls_are_counted_once,
            }
            user_stats {
                an_unknown_user_has_no_usage,
                calls_count_for_the_owner_of_their_chat,
                a_fork_counts_for_its_own_owner,
                users_are_listed_by_each_number_and_in_pages,
                hours_of_a_user_add_up_to_the_total,
                a_purged_chat_still_counts_for_its_owner,
                an_erased_person_is_counted_under_the_pseudonym,
                calls_that_race_with_an_erasure_are_counted_once,
            }
            metrics {
                every_call_is_counted_with_its_outcome,
                concurrent_calls_are_all_counted,
                appends_are_measured_by_their_requested_size,
                streams_are_counted_by_what_is_written,
            }
        }
    };
    ($make_store:expr; $($record:ident { $($promise:ident,)+ })+) => {
        $(mod $record {
            use super::*;

            $(#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
            async fn $promise() {
                $crate::check($make_store(), $crate::$record::$promise).await;
            })+
        })+
    };
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    #[test]
    fn every_promise_is_on_the_list() {
        let list = include_str!("lib.rs");
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        for entry in fs::read_dir(sources).unwrap() {
            let path = entry.unwrap().path();
            // Folders hold what the promises share.
            if path.is_dir() || path.ends_with("lib.rs") {
                continue;
            }
            let file = fs::read_to_string(path).unwrap();
            for function in file.split("pub async fn ").skip(1) {
                let (name, rest) = function.split_once('(').unwrap();
                let (parameters, _) = rest.split_once(')').unwrap();
                let is_promise = parameters.matches(':').count() == 1;
                assert!(!is_promise || list.contains(&format!(" {name},\n")), "{name}");
            }
        }
    }
}
