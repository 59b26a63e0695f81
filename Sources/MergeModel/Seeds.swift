import Foundation

/// The seeds that a property is tried with.
///
/// A failure names its seed; `PEERD_SEED=<seed>` runs that one alone, `PEERD_SEED_COUNT=<n>` runs more or fewer of
/// them, and `PEERD_EXHAUSTIVE=1` tries in full what is otherwise tried in part. `PEERD_PLAN=<plan>` performs
/// one merge plan instead of all that are drawn.
package enum Seeds {
    /// `count` seeds from `first` on, or what the environment asks for.
    package static func range(from first: UInt64, count: Int) -> [UInt64] {
        if let only = self.number("PEERD_SEED") { return [only] }
        let wanted = self.number("PEERD_SEED_COUNT").map { Int($0) } ?? count
        return (0..<wanted).map { first + UInt64($0) }
    }

    /// Whether the small worlds are wanted in full.
    package static var isExhaustive: Bool { ProcessInfo.processInfo.environment["PEERD_EXHAUSTIVE"] != nil }

    /// The plans that some seeds draw, or the one plan that the environment asks for.
    package static func plans(
        from first: UInt64,
        count: Int,
        changes: Int,
        troubles: MergeTroubles = []
    ) throws(UnknownPlan) -> [MergePlan] {
        if let text = ProcessInfo.processInfo.environment["PEERD_PLAN"] { return [try MergePlan(text: text)] }
        return self.range(from: first, count: count).map {
            MergePlanGenerator.plan(seed: $0, changes: changes, troubles: troubles)
        }
    }

    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }
}
