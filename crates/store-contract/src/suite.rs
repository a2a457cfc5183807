//! The list of all promises.

/// Makes a test of every promise of the contract.
///
/// `$make_store` is an async function that makes a store of its own for each test, as a pair of an
/// `Arc<dyn Store>` and a guard: whatever must live until the test ends and clean up after it. The
/// calling crate needs `tokio`.
#[macro_export]
macro_rules! contract_tests {
    ($make_store:expr) => {
        $crate::contract_tests! {
            $make_store;
            chat_sessions {
                a_new_chat_is_running_and_empty,
                every_field_of_a_new_chat_comes_back,
                a_missing_chat_id_is_minted_anew_each_time,
                a_missing_cache_seed_is_derived_from_app_and_chat,
                derived_cache_seeds_are_the_published_ones,
                creating_a_chat_that_exists_is_refused_and_changes_nothing,
                of_sixteen_racing_creators_exactly_one_wins,
                a_chat_never_created_is_none,
                a_title_or_metadata_past_its_limit_is_refused,
            }
            statuses {
                a_chat_moves_only_where_it_may,
                a_chat_that_is_already_there_does_not_move,
                ending_counts_the_seconds_from_the_creation,
                reopening_clears_the_end_and_a_later_end_counts_from_the_creation,
                the_reason_of_a_pause_or_failure_is_kept_until_the_next_move,
                completing_and_reopening_keep_no_reason,
                racing_completions_are_answered_alike,
                of_racing_completions_and_failures_one_kind_wins,
                a_move_leaves_all_else_as_it_is,
            }
            lists {
                chats_are_listed_newest_first,
                chats_of_one_moment_are_listed_by_id,
                an_app_without_chats_lists_none,
                each_filter_and_all_together_admit_what_they_say,
                a_filter_follows_the_status,
                pages_are_complete_and_do_not_overlap,
                a_page_that_holds_the_last_chat_has_no_next,
                chats_created_while_paging_hide_none_and_repeat_none,
                a_cursor_is_a_position_even_where_no_chat_is,
            }
            turns {
                a_turn_is_written_whole_and_noted_with_its_chat,
                a_repeated_turn_is_answered_as_the_first_time,
                a_turn_with_anything_else_in_it_conflicts,
                only_steps_that_were_not_done_are_kept,
                resume_points_are_listed_by_turn_and_deleted,
                resume_points_come_in_pages,
                a_turn_may_be_nothing_but_steps,
                the_name_of_a_turn_is_taken_whatever_is_in_it,
                a_turn_without_messages_is_known_for_ever,
                a_fork_knows_the_turns_whose_messages_it_took_over,
                every_field_of_a_step_comes_back,
                a_turn_keeps_to_its_limits,
                racing_repeats_of_a_turn_write_it_once,
                readers_see_racing_turns_whole_or_not_at_all,
                a_turn_larger_than_an_append_is_written_at_once,
                a_turn_is_fenced_like_any_write,
                turns_stay_within_their_scope,
            }
            resumption {
                a_chat_is_brought_back_whole,
                a_chat_elsewhere_is_not_brought_back,
                a_chat_is_brought_back_as_it_was_at_one_moment,
            }
            leases {
                a_lease_has_one_holder_until_it_is_given_back,
                acquiring_a_lease_is_safe_to_repeat,
                of_32_rivals_one_gets_the_lease,
                what_rivals_write_stands_in_the_order_of_their_tokens,
                a_lease_that_has_expired_holds_until_it_is_taken_over,
                whoever_has_lost_the_lease_changes_nothing,
                what_is_sealed_is_fenced_as_well,
                what_was_stored_under_a_lease_is_answered_ever_after,
                whoever_has_lost_the_lease_is_told_so_of_what_was_stored_since,
                a_chat_that_ends_gives_its_lease_up,
                a_lease_keeps_to_its_limits_and_its_scope,
                an_abandoned_chat_is_interrupted_once,
            }
            appends {
                sequences_count_from_0_through_singles_and_batches,
                a_batch_is_stored_in_its_order,
                every_field_of_a_message_comes_back,
                an_append_updates_the_chat,
                two_messages_with_equal_text_and_no_ids_are_two,
                missing_event_ids_are_minted_and_unique,
                appending_to_an_unknown_chat_is_refused_and_stores_nothing,
                an_ended_chat_takes_no_more_messages,
                a_paused_and_a_reopened_chat_take_messages,
                thirty_messages_of_900_kb_all_come_back,
            }
            authors {
                what_a_person_appends_is_theirs_in_every_way,
                a_service_states_who_wrote_a_message,
                a_person_may_name_themselves_and_nobody_else,
                who_sent_a_message_first_stays_its_author,
                an_author_survives_edits_and_deletion,
            }
            repeats {
                appending_twice_with_one_event_id_keeps_one_message,
                a_repeat_may_order_its_keys_differently,
                a_batch_that_repeats_in_part_stores_only_what_is_new,
                a_repeat_within_one_batch_is_stored_once,
                one_event_id_with_two_bodies_in_one_batch_is_invalid,
                an_event_id_with_another_body_refuses_the_whole_batch,
                bodies_that_look_alike_conflict,
                a_value_moved_to_another_field_conflicts,
                repeats_and_conflicts_are_known_after_500_further_messages,
                racing_callers_with_one_event_id_store_one_message,
                racing_batches_that_overlap_store_each_message_once,
                of_racing_bodies_under_one_event_id_one_wins,
                a_repeat_is_answered_even_after_the_chat_has_ended,
                an_event_id_belongs_to_its_chat,
            }
            races {
                racing_writers_leave_no_gap_and_no_double,
                readers_see_racing_batches_whole_in_order_or_not_at_all,
                completion_and_racing_appends_agree_on_what_was_stored,
                racing_appends_to_different_chats_stay_apart,
                a_refused_append_leaves_its_racing_neighbours_alone,
                racing_appends_of_the_largest_messages_are_all_stored,
                racing_edits_of_different_messages_all_survive,
                a_deletion_that_races_with_edits_prevails,
                readers_see_every_message_once_while_old_ones_grow,
            }
            limits {
                a_message_past_a_limit_is_refused_with_its_batch,
                a_batch_past_a_limit_is_refused,
                two_messages_just_within_the_limits_are_stored,
                a_thousand_messages_in_one_append_are_stored,
                the_deepest_nesting_allowed_comes_back,
                a_chat_may_hold_the_largest_of_everything_at_once,
            }
            messages {
                a_message_is_found_by_its_id_wherever_it_lies,
                ranges_select_what_a_slice_of_the_history_would,
                pages_of_any_size_join_into_the_whole,
                a_chat_without_messages_reads_as_empty,
                the_history_streams_everything_in_order,
                what_is_appended_while_the_history_is_read_is_not_in_it,
                an_edit_while_the_history_is_read_shows_in_what_comes_later_or_not_at_all,
                the_history_of_a_chat_never_created_is_an_error_and_ends,
                a_message_is_found_by_its_sequence,
                a_page_ends_early_past_16_mib_and_the_next_goes_on_from_there,
            }
            edits {
                an_edit_changes_what_it_names_and_nothing_else,
                old_messages_are_edited_like_new_ones,
                a_deleted_message_leaves_a_tombstone_and_no_hole,
                nothing_of_a_deleted_body_is_left_but_role_and_name,
                deleting_twice_is_answered_as_the_first_time,
                a_deleted_or_missing_message_cannot_be_edited,
                an_original_repeated_after_an_edit_or_deletion_is_still_known,
                an_edit_past_a_limit_is_refused_and_changes_nothing,
                old_neighbours_may_grow_to_3_mib_each,
                the_newest_messages_may_grow_to_3_mib_each,
            }
            initial_messages {
                initial_messages_are_appended_in_their_order,
                handed_in_again_without_ids_they_are_recognised,
                at_the_end_of_a_long_chat_they_are_recognised,
                structured_content_is_recognised_by_its_structure,
                another_role_is_another_message_and_another_name_is_not,
                with_ids_they_are_known_by_their_ids_alone,
                those_that_overlap_the_newest_are_stored_from_there_on,
                those_that_are_no_longer_the_newest_are_stored_again,
                of_equal_neighbours_one_is_kept,
                an_equal_neighbour_with_an_id_is_kept,
                what_follows_a_new_message_is_not_sought_among_the_old,
                what_follows_a_known_message_is_not_sought_before_it,
                some_with_ids_among_those_without_are_recognised_too,
                eight_racers_store_one_copy,
                an_equal_message_appended_afterwards_is_stored,
                a_deleted_message_is_not_recognised,
                an_edited_message_is_recognised_by_what_it_says_now,
                in_an_ended_chat_they_are_recognised_and_new_ones_refused,
            }
            context_history {
                a_chat_without_snapshots_has_no_versions,
                every_snapshot_that_was_written_is_a_version,
                versions_are_listed_newest_first_in_pages,
                versions_come_back_whatever_their_keys,
                a_refused_snapshot_leaves_no_version,
                racing_snapshots_are_each_a_version_of_their_own,
                the_newest_hundred_versions_are_kept,
            }
            forks {
                a_fork_holds_what_its_source_holds_below_its_sequence,
                every_field_of_a_fork_comes_back,
                a_fork_of_a_chat_without_messages_has_none,
                a_fork_is_running_and_has_nothing_else_of_its_source,
                a_fork_has_the_context_snapshot_of_its_sequence,
                both_go_on_from_their_own_counters,
                what_changes_in_the_source_does_not_show_in_its_forks,
                what_changes_in_a_fork_does_not_show_in_its_source,
                forks_of_forks_go_their_own_ways,
                a_message_changed_again_and_again_is_what_it_was_at_each_fork,
                shared_messages_may_grow_to_3_mib_each,
                ids_that_came_with_a_fork_are_known_in_it,
                initial_messages_are_recognised_in_a_fork,
                deleting_a_call_in_a_fork_leaves_its_source_alone,
                a_sequence_the_chat_has_not_reached_is_refused,
                a_fork_under_an_id_that_exists_is_refused_and_changes_nothing,
                of_sixteen_racing_forks_under_one_id_exactly_one_wins,
                forks_of_a_chat_that_is_written_to_are_whole_and_stay_as_they_are,
                a_fork_is_counted_as_a_chat_of_its_workflow,
            }
            participants {
                a_user_who_joins_takes_part,
                joining_again_changes_the_name_at_most,
                whoever_leaves_takes_part_no_longer,
                participants_are_listed_oldest_first_page_by_page,
                of_racing_joins_of_one_user_one_is_new,
                a_chat_has_room_for_so_many_participants,
                participants_of_other_chats_stay_apart,
                names_are_nothing_but_names,
                a_chat_in_any_status_may_be_joined,
            }
            presence {
                whoever_is_announced_is_present,
                participants_are_present_by_their_names,
                an_announcement_lasts_as_long_as_it_says,
                announcing_again_changes_nothing_but_the_end,
                what_is_withdrawn_is_gone,
                presence_stays_within_its_chat_and_app,
                more_persons_than_are_named_are_counted,
                whoever_listens_is_told_who_comes_and_goes,
            }
            calls {
                every_field_of_a_call_comes_back,
                what_a_chat_has_used_is_the_sum_of_its_calls,
                a_repeated_call_is_answered_as_the_first_time_and_counted_once,
                a_call_id_with_another_body_refuses_the_whole_batch,
                calls_of_an_unknown_chat_are_refused_and_counted_nowhere,
                a_call_past_a_limit_is_refused_with_its_batch,
                calls_are_listed_newest_first_in_pages,
                an_ended_chat_takes_calls,
                racing_recordings_count_every_call_once,
            }
            changes {
                whoever_listens_is_told_of_every_append,
                whatever_else_changes_is_told_too,
                calls_that_are_recorded_and_deleted_are_told,
                changes_of_racing_writers_end_with_the_last,
                listeners_are_independent_of_each_other,
                a_head_moves_with_whatever_changes,
                a_head_names_what_was_edited_last_wherever_it_lies,
                heads_are_those_of_the_scope,
            }
            contexts {
                a_chat_without_a_snapshot_has_an_empty_one,
                replacing_leaves_nothing_of_the_former,
                merging_follows_the_merge_patch_rules,
                keys_keep_their_order,
                a_snapshot_knows_the_sequence_it_was_taken_at,
                a_snapshot_touches_the_chat_and_not_its_messages,
                a_snapshot_is_taken_in_every_status,
                sixteen_racing_merges_all_survive,
                merges_and_appends_that_race_lose_nothing,
                a_reader_sees_a_large_snapshot_whole_while_it_is_replaced,
                large_snapshots_follow_small_ones_and_back,
                a_snapshot_past_a_limit_is_refused_and_changes_nothing,
                a_merge_that_grows_the_snapshot_past_its_limit_is_refused,
            }
            artifacts {
                all_six_fields_come_back,
                missing_fields_stay_missing_and_the_time_is_that_of_storing,
                a_given_time_is_kept_to_the_millisecond,
                a_later_artifact_replaces_the_whole_of_the_former,
                clearing_removes_it_and_may_be_repeated,
                an_artifact_touches_the_chat_and_not_its_messages,
                large_payloads_follow_small_ones_and_back,
                a_reader_sees_a_large_artifact_whole_while_it_is_replaced,
                an_artifact_past_a_limit_is_refused_and_changes_nothing,
            }
            input_requests {
                a_question_pauses_its_chat_until_it_is_answered,
                of_many_answers_one_wins_and_the_others_are_shown_it,
                answers_race_with_appends_in_one_order,
                a_repeated_question_is_answered_as_it_stands,
                a_repeated_answer_is_answered_as_the_first_time,
                an_answer_must_fit_its_question,
                an_answer_for_other_arguments_is_refused,
                a_question_is_taken_back_once,
                a_question_expires,
                a_chat_that_ends_closes_its_questions,
                a_chat_paused_for_another_reason_stays_paused,
                questions_keep_to_their_limits,
                questions_are_listed_newest_first_and_found_by_their_id,
                a_pending_question_is_found_behind_any_number_of_others,
                a_head_says_what_became_of_questions,
                questions_of_unknown_chats_are_not_there,
            }
            apps {
                an_app_that_is_registered_is_enabled,
                an_app_is_disabled_and_enabled_again,
                what_an_app_is_already_moves_nothing,
                an_app_never_registered_cannot_be_disabled,
                racing_registrations_are_answered_alike,
                apps_are_listed_by_id_page_by_page,
            }
            tickets {
                a_ticket_lets_its_caller_in_once,
                a_ticket_is_for_one_chat_of_one_app,
                a_ticket_expires,
                of_racing_callers_with_one_ticket_one_is_let_in,
                there_is_no_ticket_to_a_chat_that_is_not_seen,
            }
            wallets {
                a_wallet_never_created_is_none_and_takes_no_change,
                a_new_wallet_holds_its_initial_balance_as_its_first_entry,
                the_initial_balance_counts_only_at_the_creation,
                every_change_is_an_entry_and_the_balance_their_sum,
                a_repeat_is_answered_as_the_first_time_and_changes_nothing,
                a_repeat_is_known_after_200_further_changes,
                an_entry_id_with_another_amount_or_kind_conflicts,
                a_debit_of_more_than_there_is_changes_nothing,
                a_credit_beyond_the_limit_changes_nothing,
                a_change_past_a_limit_is_invalid,
                entries_are_listed_newest_first_page_by_page,
                of_64_rivals_for_the_last_tokens_as_many_win_as_there_are,
                racing_repeats_change_the_wallet_once,
                of_racing_amounts_under_one_id_one_wins,
                racing_creations_fill_a_wallet_once,
                readers_never_see_a_balance_that_is_not_the_sum,
                wallets_of_other_users_and_apps_stay_apart,
                a_user_has_only_their_own_wallet,
                wallets_are_listed_by_user_page_by_page,
                every_app_with_wallets_is_found,
            }
            scopes {
                a_chat_never_created_is_not_found_by_any_call,
                a_chat_of_another_app_is_not_found_by_any_call,
                a_chat_is_open_to_whom_its_visibility_admits_and_to_nobody_else,
                a_list_shows_a_user_exactly_what_they_may_open,
            }
            json {
                every_poisonous_value_comes_back,
                poison_comes_back_from_long_ago,
            }
            ping {
                a_store_that_can_be_used_answers,
            }
            exchanges {
                an_exchange_stores_messages_and_their_call,
                a_repeated_exchange_is_answered_as_the_first_time,
                an_exchange_is_refused_as_a_whole,
                an_exchange_with_an_unknown_chat_changes_nothing,
                a_deleted_call_counts_no_longer_and_leaves_its_messages,
                the_messages_of_a_deleted_call_count_as_edited,
                racing_exchanges_and_appends_share_one_order,
            }
            billing {
                billed_calls_take_their_tokens_from_the_wallet,
                an_empty_wallet_pauses_the_chat_and_keeps_the_calls,
                without_a_wallet_there_is_nothing_to_pay_with,
                an_exchange_is_paid_for_with_its_call,
                racing_calls_never_overdraw_a_wallet,
            }
            stats {
                a_workflow_that_nobody_has_used_counts_nothing,
                every_start_and_every_move_is_counted,
                calls_add_up_by_workflow_agent_and_model,
                names_that_look_alike_are_counted_apart,
                hours_add_up_to_the_whole,
                a_reopened_chat_leaves_the_hour_it_had_ended_in,
                chats_are_listed_newest_first_with_what_they_took,
                apps_are_counted_apart_and_listed,
                racing_moves_and_calls_are_counted_once_each,
            }
            metrics {
                every_call_is_counted_with_its_outcome,
                calls_made_at_once_are_all_counted,
                appends_are_measured_as_they_were_given,
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
    #[test]
    fn every_promise_is_on_the_list() {
        let list = include_str!("suite.rs");
        let files = [
            include_str!("chat_sessions.rs"),
            include_str!("statuses.rs"),
            include_str!("lists.rs"),
            include_str!("appends.rs"),
            include_str!("authors.rs"),
            include_str!("repeats.rs"),
            include_str!("races.rs"),
            include_str!("limits.rs"),
            include_str!("messages.rs"),
            include_str!("edits.rs"),
            include_str!("initial_messages.rs"),
            include_str!("participants.rs"),
            include_str!("presence.rs"),
            include_str!("contexts.rs"),
            include_str!("context_history.rs"),
            include_str!("artifacts.rs"),
            include_str!("calls.rs"),
            include_str!("changes.rs"),
            include_str!("stats.rs"),
            include_str!("billing.rs"),
            include_str!("exchanges.rs"),
            include_str!("forks.rs"),
            include_str!("input_requests.rs"),
            include_str!("apps.rs"),
            include_str!("wallets.rs"),
            include_str!("tickets.rs"),
            include_str!("scopes.rs"),
            include_str!("json.rs"),
            include_str!("ping.rs"),
            include_str!("metrics.rs"),
        ];
        for file in files {
            for function in file.split("pub async fn ").skip(1) {
                let (name, rest) = function.split_once('(').unwrap();
                let (parameters, _) = rest.split_once(')').unwrap();
                let is_promise = parameters.matches(':').count() == 1;
                assert!(!is_promise || list.contains(&format!(" {name},\n")), "{name}");
            }
        }
    }
}
