use super::Row;
use super::cancel_callers::CancelCallers;
use super::control::Control;
use super::cut_replies::CutReplies;
use super::engine_conflicts::EngineConflicts;
use super::failing_commands::{ALL, AWAITED, FailingCommands, Failure};
use super::forged_events::{EventForger, EventForgery};
use super::forgery::{Forger, Forgery};
use super::growth::Growth;
use super::history_lost::{HistoryLost, Loss, forgetful};
use super::isolate_primary::IsolatePrimary;
use super::kill_primary::KillPrimary;
use super::kill_secondaries::KillSecondaries;
use super::lost_acknowledgement::{LostOnce, LostTwice};
use super::pause_primary::{PausePrimary, untuned};
use super::pause_service::PauseService;
use super::restart_service::{DrainService, KillService};
use super::silent_server::SilentServer;
use super::slow_server::SlowServer;
use super::stalled_majority::{StalledMajority, WriteConcernErrors};
use super::step_down::StepDown;
use super::stream_lost::StreamLost;
use super::tampering::Tampering;
use super::terminate_primary::TerminatePrimary;
use super::whole_set::WholeSet;
use crate::faults::checker::Kind;
use crate::faults::cluster::Timing;
use crate::faults::fault::Fault;
use crate::faults::workload::Load;

/// Codes while the store is away.
const AWAY: &[&str] = &["store-unavailable", "outcome-unknown", "deadline-exceeded"];
/// Codes while the outcome of a write is unknown, including those of callers that wait behind it.
const UNKNOWN: &[&str] = &["outcome-unknown", "store-unavailable"];
/// The same if every page takes seconds: a transcript has no deadline, and one that first reads the whole
/// chat may take longer than its reader waits.
const SLOW: &[&str] = &["store-unavailable", "outcome-unknown", "deadline-exceeded", "timeout"];
/// Codes of a service that stops.
const GONE: &[&str] = &["not-connected", "no-answer", "stream-ended"];
/// The same if it may have locked what others write, in a transaction that the server ends after 5 seconds.
const GONE_IN_TRANSACTION: &[&str] =
    &["not-connected", "no-answer", "stream-ended", "outcome-unknown"];
/// Codes of a service that hangs.
const HANGING: &[&str] = &["timeout"];

/// "Not primary" and similar errors: a member has changed its role.
const CHANGES: Failure = Failure::Codes(&[10_107, 189, 11_602]);
/// A member is being shut down.
const SHUTDOWNS: Failure = Failure::Codes(&[91, 11_600]);
/// More in a row than can run at the same time, so that one command fails twice.
const TWICE: i32 = 12;

fn once(failure: Failure) -> Box<dyn Fault> {
    Box::new(FailingCommands { failure, commands: ALL, times: 1 })
}

fn twice(failure: Failure) -> Box<dyn Fault> {
    Box::new(FailingCommands { failure, commands: AWAITED, times: TWICE })
}

fn forger(forgery: Forgery) -> Box<dyn Fault> {
    Box::new(Forger::new(forgery))
}

fn event_forger(forgery: EventForgery) -> Box<dyn Fault> {
    Box::new(EventForger::new(forgery))
}

/// All faults, in the order of their numbers.
pub static MATRIX: &[Row] = &[
    Row::of(1, "control", || Box::new(Control)).what("nothing").under(Load::TWO_SERVICES),
    Row::of(1, "control-many-chats", || Box::new(Control)).what("nothing").under(Load::MANY_CHATS),
    Row::of(2, "planted-lost", || forger(Forgery::Lose))
        .what("a proxy acknowledges an append and drops it")
        .under(Load::EVENTS)
        .found_as(Kind::Lost),
    Row::of(2, "planted-doubled", || forger(Forgery::Double))
        .what("a proxy sends an append again under fresh ids")
        .under(Load::EVENTS)
        .found_as(Kind::Unexpected),
    Row::of(2, "planted-misplaced", || forger(Forgery::Misplace))
        .what("a proxy returns another sequence")
        .under(Load::EVENTS)
        .found_as(Kind::OtherSequence),
    Row::of(2, "planted-denied", || forger(Forgery::Deny))
        .what("a proxy stores a message and says it was refused")
        .under(Load::EVENTS)
        .found_as(Kind::RefusedButStored),
    Row::of(2, "planted-untold", || event_forger(EventForgery::Lose))
        .what("a proxy leaves an event out")
        .under(Load::EVENTS)
        .found_as(Kind::NotTold),
    Row::of(2, "planted-told-twice", || event_forger(EventForgery::Double))
        .what("a proxy sends an event twice")
        .under(Load::EVENTS)
        .found_as(Kind::ToldTwice),
    Row::of(2, "planted-told-late", || event_forger(EventForgery::Swap))
        .what("a proxy sends an event after the next one")
        .under(Load::EVENTS)
        .found_as(Kind::ToldLate),
    Row::of(2, "planted-removed", || Box::new(Tampering::Remove))
        .what("a message is removed from the database")
        .found_as(Kind::Lost),
    Row::of(2, "planted-repeated", || Box::new(Tampering::Repeat))
        .what("a message is duplicated in the database")
        .found_as(Kind::Repeated),
    Row::of(2, "planted-swapped", || Box::new(Tampering::Swap))
        .what("two messages are swapped in the database")
        .found_as(Kind::OtherSequence),
    Row::of(2, "planted-changed", || Box::new(Tampering::Change))
        .what("a message is changed in the database")
        .found_as(Kind::OtherBody),
    Row::of(3, "retryable-error", || once(CHANGES))
        .what("a command fails once as if the primary had changed")
        .bounded(1_000),
    Row::of(4, "retryable-error-twice", || twice(CHANGES))
        .what("the same, twice in a row")
        .noticed_as(AWAY)
        .bounded(2_000),
    Row::of(5, "shutdown-error", || once(SHUTDOWNS))
        .what("a command fails once as if the server were stopping")
        .bounded(1_000),
    Row::of(6, "cut", || once(Failure::Cut))
        .what("a connection is closed before its command is executed")
        .bounded(2_000),
    Row::of(6, "cut-twice", || twice(Failure::Cut))
        .what("the same, twice in a row")
        .noticed_as(AWAY)
        .bounded(2_000),
    Row::of(7, "lost-ack", || Box::new(LostOnce))
        .what("a write is applied and its acknowledgement is lost")
        .bounded(1_000),
    Row::of(8, "lost-ack-twice", || Box::new(LostTwice))
        .what("the same, repeatedly")
        .noticed_as(UNKNOWN)
        .bounded(2_000),
    Row::of(9, "write-concern-error", || Box::new(WriteConcernErrors))
        .what("the same as 10, and the primary says so at once")
        .on_a_set_of_three()
        .noticed_as(AWAY),
    Row::of(10, "stalled-majority", || Box::new(StalledMajority))
        .what("both secondaries stop replicating")
        .on_a_set_of_three()
        .noticed_as(AWAY),
    Row::of(11, "engine-conflicts", || Box::new(EngineConflicts))
        .what("every fiftieth storage operation fails with a conflict")
        .under(Load::TWO_SERVICES),
    Row::of(12, "slow-server", || Box::new(SlowServer))
        .what("every command is delayed by 0.5 to 3.5 seconds")
        .noticed_as(SLOW),
    Row::of(13, "kill-primary", || Box::new(KillPrimary::Followed))
        .what("the primary is killed and started again")
        .on_a_set_of_three()
        .under(Load::TWO_SERVICES)
        .noticed_as(AWAY)
        .bounded(3_000),
    Row::of(13, "kill-primary-ahead", || Box::new(KillPrimary::Ahead))
        .what("the same when the secondaries lag behind it")
        .on_a_set_of_three()
        .under(Load::TWO_SERVICES)
        .noticed_as(AWAY)
        .bounded(4_000),
    Row::of(14, "step-down", || Box::new(StepDown))
        .what("the primary steps down, repeatedly")
        .on_a_set_of_three()
        .under(Load::TWO_SERVICES)
        .noticed_as(AWAY)
        .bounded(1_000),
    Row::of(15, "terminate-primary", || Box::new(TerminatePrimary))
        .what("the primary is asked to stop, and stops slowly")
        .on_a_set_of_three()
        .under(Load::TWO_SERVICES)
        .noticed_as(AWAY)
        .bounded(1_000)
        .told_within(5_000),
    Row::of(16, "pause-primary", || Box::new(PausePrimary::Tuned))
        .what("the primary hangs for 6 to 10 seconds")
        .on_a_set_of_three()
        .under(Load::TWO_SERVICES)
        .noticed_as(AWAY)
        .bounded(4_000),
    Row::of(17, "pause-primary-untuned", || Box::new(PausePrimary::Untuned))
        .what("the same in a set with the defaults of mongod")
        .on_a_set_of_three()
        .on(untuned)
        .noticed_as(AWAY)
        .bounded(15_000),
    Row::of(18, "kill-secondary", || Box::new(KillSecondaries::One))
        .what("a secondary is killed and started again")
        .on_a_set_of_three()
        .bounded(1_000),
    Row::of(18, "kill-secondaries", || Box::new(KillSecondaries::Both))
        .what("both secondaries are killed and started again")
        .on_a_set_of_three()
        .noticed_as(AWAY),
    Row::of(19, "isolate-primary", || Box::new(IsolatePrimary))
        .what("the primary is cut off from all others")
        .on_a_set_of_three()
        .through_proxies()
        .under(Load::TWO_SERVICES)
        .noticed_as(AWAY)
        .bounded(5_000),
    Row::of(20, "silent-server", || Box::new(SilentServer))
        .what("no data passes between a service and its server")
        .noticed_as(AWAY),
    Row::of(21, "cut-replies", || Box::new(CutReplies))
        .what("replies are cut, and connections are reset")
        .bounded(2_000),
    Row::of(22, "whole-set-down", || Box::new(WholeSet))
        .what("all members are killed and started much later")
        .on_a_set_of_three()
        .noticed_as(AWAY),
    Row::of(25, "history-lost", || Box::new(HistoryLost::of(Loss::Position)))
        .what("a service hangs until the oplog lacks what its change stream missed")
        .on(forgetful)
        .under(Load::TWO_SERVICES)
        .with_timing(Timing::IMPATIENT)
        .noticed_as(HANGING),
    Row::of(25, "history-and-cursor-lost", || Box::new(HistoryLost::of(Loss::Token)))
        .what("the same, and the server has killed its cursor")
        .on(forgetful)
        .under(Load::TWO_SERVICES)
        .with_timing(Timing::IMPATIENT)
        .noticed_as(HANGING),
    Row::of(26, "stream-lost", || Box::new(StreamLost))
        .what("change streams fail repeatedly, and are killed")
        .under(Load::TWO_SERVICES)
        .told_within(3_000),
    Row::of(27, "kill-service", || Box::new(KillService))
        .what("a service is killed and started elsewhere")
        .under(Load::TWO_SERVICES)
        .noticed_as(GONE),
    Row::of(27, "drain-service", || Box::new(DrainService))
        .what("a service is asked to stop while it is busy")
        .under(Load::TWO_SERVICES)
        .noticed_as(GONE),
    Row::of(28, "pause-service", || Box::new(PauseService))
        .what("a service hangs for 5 to 10 seconds, and continues")
        .under(Load::TWO_SERVICES)
        .with_timing(Timing::IMPATIENT)
        .noticed_as(HANGING),
    Row::of(30, "growth", || Box::new(Growth::default()))
        .what("a chat grows to 20 MB and every limit is exceeded")
        .with_timing(Timing::LONG),
    Row::of(31, "cancel-callers", || Box::new(CancelCallers))
        .what("callers of transactions disconnect early while the primary steps down")
        .on_a_set_of_three()
        .under(Load::TWO_SERVICES)
        .noticed_as(AWAY)
        .bounded(2_000),
    Row::of(32, "documents-kill-primary", || Box::new(KillPrimary::Followed))
        .what("the primary is killed while clients write documents")
        .on_a_set_of_three()
        .under(Load::DOCUMENTS)
        .noticed_as(AWAY)
        .bounded(3_000),
    Row::of(32, "documents-kill-service", || Box::new(KillService))
        .what("a service is killed while clients write documents")
        .under(Load::DOCUMENTS)
        .noticed_as(GONE_IN_TRANSACTION),
];
