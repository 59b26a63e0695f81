internal import CRDTCore
internal import MergeModel
internal import SyncProtocol

/// Replicas, contexts, stamps, forks and restamps.
extension Expense {
    private static func opening(_ member: CostlyMember) -> [Message] { [member.run([])] }

    /// A chain that is not the one that is written otherwise.
    private static func otherChain(_ member: CostlyMember) -> [Message] {
        let draft = Draft(edits: [self.touch(0)])
        return [member.run(Array(repeating: draft, count: 4_000), on: 1)]
    }

    /// A change that has seen many replicas.
    private static func wideChange(_ member: CostlyMember) -> [Message] {
        let replicas = self.manyReplicas(member)
        let context = (1...2_000).map { self.point(member.head(of: $0)) }
        return replicas + [member.run([Draft(edits: [], context: context)])]
    }

    /// A chain of 3,000 changes that each set ten properties of one object.
    private static func longChain(_ member: CostlyMember) -> [Message] {
        let edits = (0..<10).map { Edit.set(self.object(0), name: "n\($0)", value: .null) }
        return [member.run((0..<3_000).map { Draft(edits: edits, millisecond: $0) }, on: 1)]
    }

    /// Restamps of stretches of that chain, each in a run of its own.
    ///
    /// `milliseconds`: when each is stamped.
    private static func restamps(
        _ member: CostlyMember,
        _ stretches: [ClosedRange<UInt64>],
        at milliseconds: () -> UInt64 = { 0 }
    ) -> [Message] {
        stretches.map { stretch in
            let hash = member.hash(of: stretch.upperBound, on: 1)
            let edit = self.restamp(member.head(of: 1).replica, stretch, hash)
            return member.run([Draft(edits: [edit], millisecond: milliseconds())])
        }
    }

    private static func restamp(_ replica: ReplicaID, _ stretch: ClosedRange<UInt64>, _ lastHash: Hash256) -> Edit {
        .restamp(
            Restamp(
                replica: replica,
                firstSequence: stretch.lowerBound,
                lastSequence: stretch.upperBound,
                lastHash: lastHash
            )
        )
    }

    /// A change that nobody has, for a context.
    private static func unknownPoint(_ member: CostlyMember) -> Point {
        Point(replica: member.unknownReplica(), sequence: 1, name: ChangeName(rawValue: 1))
    }

    /// A thousand changes, a run each.
    private static func manyChanges(_ member: CostlyMember, on chain: Int = 0) -> [Message] {
        (0..<1_000).map { _ in member.run([Draft(edits: [self.touch(0)])], on: chain) }
    }

    /// So many forks of the chain's last change.
    private static func forks(_ member: CostlyMember, _ count: Int) -> [Message] {
        (0..<count).map { member.run([Draft(edits: [self.touch($0)])], forking: true) }
    }

    /// Forks each of which writes every one of the same properties.
    private static func contest(_ member: CostlyMember) -> [Message] {
        (0..<1_000).map { number in
            let edits = (0..<250).map { name in
                Edit.set(self.object(0), name: "n\(name)", value: .int(Int64(number)))
            }
            return member.run([Draft(edits: edits)], forking: true)
        }
    }

    package static var chains: [Expense] {
        [
            Expense("introduce: 2,000 replicas") { member in
                (0..<2_000).map { member.run([Draft(edits: [self.touch($0)])], on: $0) }
            },
            Expense("introduce: 1,000 replicas that set one property") { member in
                (0..<1_000).map { member.run([Draft(edits: [self.touch(0)])], on: $0) }
            },
            Expense("context: 200 of 4,096 replicas that nobody knows") { member in
                (0..<200).map { number in
                    let context = (0..<Limits.contextEntryCountMax).map { _ in self.unknownPoint(member) }
                    return member.run([Draft(edits: [], context: context)], on: number)
                }
            },
            Expense("context: 50 forks that wait, of 60,000 operations each", after: self.opening) { member in
                (0..<50).map { number in
                    let edit = Edit.set(self.object(0), name: "n\(number)", value: .null)
                    let edits = Array(repeating: edit, count: 60_000)
                    return member.run([Draft(edits: edits, context: [self.unknownPoint(member)])], forking: true)
                }
            },
            Expense("context: two chains of 1,500 changes that wait for each other") { member in
                var runs: [Message] = []
                let edits = (0..<16).map { self.touch($0) }
                for number in 0..<3_000 {
                    let seen = number > 0 ? [self.point(member.head(of: 1 - number % 2))] : []
                    runs.append(member.run([Draft(edits: edits, context: seen)], on: number % 2))
                }
                // All of the second, which waits at each change, and then all of the first.
                return stride(from: 1, to: 3_000, by: 2).map { runs[$0] }
                    + stride(from: 0, to: 3_000, by: 2).map { runs[$0] }
            },
            Expense("context: 1,000 chains that wait, and 1,000 changes") { member in
                let waiting = (1...1_000).map { number in
                    member.run([Draft(edits: [], context: [self.unknownPoint(member)])], on: number)
                }
                return waiting + self.manyChanges(member)
            },
            Expense("context: 2,000 replicas seen by each of 500 changes", after: self.manyReplicas) { member in
                let context = (1...2_000).map { self.point(member.head(of: $0)) }
                return (0..<10).map { _ in member.run(Array(repeating: Draft(edits: [], context: context), count: 50)) }
            },
            Expense("stamp: 4,000 changes that are held") { member in
                [member.run((0..<4_000).map { Draft(edits: [self.touch(0)], millisecond: 9_000_000 + $0) })]
            },
            Expense("introduce: 8,000 replicas") { member in
                (0..<8_000).map { member.run([], on: $0) }
            },
            Expense("context: one of 2,000 replicas more in each of 2,000 changes", after: self.manyReplicas) {
                member in
                (1...2_000).map { number in
                    let context = [self.point(member.head(of: number))]
                    return member.run([Draft(edits: [self.touch(0)], context: context)])
                }
            },
            Expense("context: 8,000 replicas, each of which has seen the one before") { member in
                (0..<8_000).map { number in
                    let context = number == 0 ? [] : [self.point(member.head(of: number - 1))]
                    return member.run([Draft(edits: [], context: context)], on: number)
                }
            },
            Expense("fork: 16,000 forks of one change", after: self.opening) { member in
                self.forks(member, 16_000)
            },
            Expense("fork: a fork of each of 2,000 forks", after: self.opening) { member in
                (0..<2_000).flatMap { number in
                    let draft = Draft(edits: [self.touch(number)])
                    return [member.run([draft], forking: true), member.run([draft])]
                }
            },
            Expense("fork: 2,000 forks of a change that has seen 2,000 replicas", after: self.wideChange) { member in
                self.forks(member, 2_000)
            },
            Expense("fork: a fork of each of 2,000 changes after such a one", after: self.wideChange) { member in
                let runs = (0..<2_000).map { number in
                    let draft = Draft(edits: [self.touch(number)])
                    return (fork: member.run([draft], forking: true), next: member.run([draft]))
                }
                return runs.map(\.next) + runs.map(\.fork)
            },
            Expense("fork: 1,000 conflicts of one property, and 120,000 sets beside them", after: self.opening) {
                member in
                let edit = self.touch(0)
                let forks = (0..<1_000).map { _ in member.run([Draft(edits: [edit])], forking: true) }
                let drafts = (0..<2).map { _ in Draft(edits: Array(repeating: edit, count: 60_000)) }
                return forks + drafts.map { member.run([$0], on: 1) }
            },
            Expense("fork: 1,000 forks that write the same 250 properties", after: self.opening, self.contest),
            Expense("fork: the same, of a change that has seen 2,000 replicas", after: self.wideChange, self.contest),
            Expense("fork: 1,000 forks of one change", after: self.opening) { member in
                self.forks(member, 1_000)
            },
            Expense("restamp: 30,000 of one change", after: self.otherChain) { member in
                let head = member.head(of: 1)
                let edits = (1...30_000 as ClosedRange<UInt64>).map { number in
                    self.restamp(head.replica, number % 4_000 + 1...head.sequence, head.hash)
                }
                return self.changes(edits).map { draft in
                    member.run([Draft(edits: draft.edits, millisecond: 0)])
                }
            },
            Expense("restamp: 100 runs, each of 4,000 changes", after: self.otherChain) { member in
                let head = member.head(of: 1)
                return (1...100 as ClosedRange<UInt64>).map { first in
                    let edit = self.restamp(head.replica, first...head.sequence, head.hash)
                    return member.run([Draft(edits: [edit], millisecond: 0)])
                }
            },
            Expense(
                "restamp: 10,000 of 3,000 changes, from the second to any",
                dripped: true,
                after: self.longChain
            ) { member in
                var random = SplitMix64(seed: 1)
                return self.restamps(member, (0..<10_000).map { _ in 2...UInt64(3 + random.below(2_997)) })
            },
            Expense(
                "restamp: 2,999 of 3,000 changes, from the last to the second",
                dripped: true,
                after: self.longChain
            ) { member in
                self.restamps(member, (2...3_000).reversed().map { UInt64($0)...UInt64($0) })
            },
            Expense(
                "restamp: 3,000 of 3,000 changes, each stamped earlier than the one before",
                dripped: true,
                after: self.longChain
            ) { member in
                var millisecond: UInt64 = 3_000
                return self.restamps(member, Array(repeating: 2...3_001, count: 3_000)) {
                    millisecond -= 1
                    return millisecond
                }
            },
            Expense(
                "restamp: 10,000 of 3,000 changes, stamped in the midst of them",
                dripped: true,
                after: self.longChain
            ) { member in
                self.restamps(member, Array(repeating: 2...3_001, count: 10_000)) { 1_500 }
            },
            Expense("restamp: 30,000 of what a chain has yet to write, and 1,000 changes of it") { member in
                let opening = member.run([], on: 1)
                let head = member.head(of: 1)
                let edits = (1...30_000 as ClosedRange<UInt64>).map { number in
                    self.restamp(head.replica, 1...2 + number % 1_000, Hash256(bytes: Bytes32(number, 1, 2, 3)))
                }
                return [opening] + self.runs(member, edits) + self.manyChanges(member, on: 1)
            },
            Expense("restamp: 30,000 of chains that nobody knows, and 1,000 changes") { member in
                let edits = (1...30_000).map { _ in self.restamp(member.unknownReplica(), 1...1, .zero) }
                return self.runs(member, edits) + self.manyChanges(member)
            },
        ]
    }
}
