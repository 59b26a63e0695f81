import Foundation

/// Which seeds a property is tried with.
///
/// A failure names its seed; `PEERD_SEED=<seed>` runs that one alone, `PEERD_SEED_COUNT=<n>` runs more or fewer of
/// them, and `PEERD_EXHAUSTIVE=1` tries in full what a debug build takes only a part of.
package enum Seeds {
    /// `count` seeds from `first` on, or what the environment asks for.
    package static func range(from first: UInt64, count: Int) -> [UInt64] {
        if let only = self.number("PEERD_SEED") { return [only] }
        let wanted = self.number("PEERD_SEED_COUNT").map { Int($0) } ?? count
        return (0..<wanted).map { first + UInt64($0) }
    }

    /// Whether the small worlds are wanted in full.
    package static var isExhaustive: Bool { ProcessInfo.processInfo.environment["PEERD_EXHAUSTIVE"] != nil }

    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }
}
