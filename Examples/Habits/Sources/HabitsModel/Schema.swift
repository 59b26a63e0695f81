import PeerdKit

/// The types and properties of the application, in one place.
///
///     app "habits"                        settings: one JSON document
///       seed "1"                          the first launch has been
///       routine "workout"                 a template
///         task "workout/squats"
///         day "workout/2026-01-31"        the routine on one day
///           entry "…/squats"              done: whether that was done
///             set                         repetitions, kilograms
///
/// All but the sets have keys: machines that make the same one apart make one object. The last part of a key is the
/// kind, which is there from the start: what is not written cannot conflict.
enum Schema {
    static let app = "app"
    static let seed = "seed"
    static let routine = "routine"
    static let task = "task"
    static let day = "day"
    static let entry = "entry"
    static let workoutSet = "set"

    static let isDone = Property<Bool>("done")
    static let repetitions = Property<Int>("repetitions")
    static let kilograms = Property<Double>("kilograms")

    /// What everybody begins with: routines and their tasks.
    static let templates = ["morning": ["stretch", "water"], "workout": ["squats", "rows"]]
}
