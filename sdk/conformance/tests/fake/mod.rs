//! A fake engine: all of the contract in memory, in a time that the test lets pass. A fault makes it break
//! one rule.

mod about;
mod engine;
mod runs;
mod scheduler;
mod watch;

pub use engine::FakeEngine;
pub use scheduler::FakeScheduler;

/// The rule that it breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// None: it has no feature, no log and no optional interface.
    DoesLittle,
    /// None: a start that is discarded is accepted, and its run is stopped.
    StopsDiscarded,
    NeverDone,
    Duplicates,
    RunsTwice,
    LosesEnds,
    ForgetsOpen,
    OwnWords,
    CutsLogs,
    NeverCompletes,
    IgnoresStops,
    IgnoresPauses,
    HidesTasks,
    RunsAll,
    RetriesAll,
    NeverFires,
    FiresWhenOff,
    LosesDates,
    /// The runs of a backfill do not say that they are.
    HidesBackfills,
    LosesEdges,
    /// A later revision switches the schedule off.
    DeploysOff,
    /// A schedule that is set is off.
    SetsOff,
    /// The dates in a body are those of today.
    UsesToday,
    ListsRemoved,
    Traps,
    TakesAnyCursor,
    RunsRemoved,
    OwnCodes,
    AsksEach,
    IgnoresRetries,
    IgnoresTimeouts,
    /// A run with the concurrency `wait` does not wait.
    IgnoresWaits,
    /// A run with the concurrency `discard` is run.
    RunsDiscarded,
    /// A run for a date of a backfill is shown as a manual one.
    LosesCauses,
    HidesRows,
}
