internal import CRDTCore
internal import MergeModel
internal import SyncProtocol

/// Replicas, contexts, stamps, forks and restamps.
extension Expense {
    private static func opening(_ member: CostlyMember) -> [Message] { [member.run([])] }

    /// A chain that is not the one that is written otherwise.
    private static func otherChain(_ member: CostlyMember) -> [Message] {
        let draft = Draft(edits: [.set(self.object(0), name: "n", value: .null)])
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
    private static func restamps(_ member: CostlyMember, _ stretches: [ClosedRange<UInt64>]) -> [Message] {
        stretches.map { stretch in
            let hash = member.hash(of: stretch.upperBound, on: 1)
            let restamp = Restamp(
                replica: member.head(of: 1).replica,
                firstSequence: stretch.lowerBound,
                lastSequence: stretch.upperBound,
                lastHash: hash
            )
            return member.run([Draft(edits: [.restamp(restamp)])])
        }
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
                (0..<2_000).map { member.run([Draft(edits: [.set(self.object($0), name: "n", value: .null)])], on: $0) }
            },
            Expense("introduce: 1,000 replicas that set one property") { member in
                (0..<1_000).map { member.run([Draft(edits: [.set(self.object(0), name: "n", value: .null)])], on: $0) }
            },
            Expense("context: 200 of 4,096 replicas that nobody knows") { member in
                (0..<200).map { number in
                    let context = (0..<Limits.contextEntryCountMax).map { _ in
                        Point(replica: member.unknownReplica(), sequence: 1, name: ChangeName(rawValue: 1))
                    }
                    return member.run([Draft(edits: [], context: context)], on: number)
                }
            },
            Expense("context: 50 forks that wait, of 60,000 operations each", after: self.opening) { member in
                (0..<50).map { number in
                    let edit = Edit.set(self.object(0), name: "n\(number)", value: .null)
                    let point = Point(replica: member.unknownReplica(), sequence: 1, name: ChangeName(rawValue: 1))
                    let draft = Draft(edits: Array(repeating: edit, count: 60_000), context: [point])
                    return member.run([draft], forking: true)
                }
            },
            Expense("context: two chains of 1,500 changes that wait for each other") { member in
                var runs: [Message] = []
                let edits = (0..<16).map { Edit.set(self.object($0), name: "n", value: .null) }
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
                    let point = Point(replica: member.unknownReplica(), sequence: 1, name: ChangeName(rawValue: 1))
                    return member.run([Draft(edits: [], context: [point])], on: number)
                }
                return waiting
                    + (0..<1_000).map { _ in
                        member.run([Draft(edits: [.set(self.object(0), name: "n", value: .null)])])
                    }
            },
            Expense(
                "context: 2,000 replicas seen by each of 500 changes",
                after: self.manyReplicas
            ) { member in
                let context = (1...2_000).map { self.point(member.head(of: $0)) }
                return (0..<10).map { _ in
                    member.run((0..<50).map { _ in Draft(edits: [], context: context) })
                }
            },
            Expense("stamp: 4,000 changes that are held") { member in
                [
                    member.run(
                        (0..<4_000).map {
                            Draft(
                                edits: [.set(self.object(0), name: "n", value: .null)],
                                millisecond: 9_000_000 + UInt64($0)
                            )
                        }
                    )
                ]
            },
            Expense("introduce: 8,000 replicas") { member in
                (0..<8_000).map { member.run([], on: $0) }
            },
            Expense("context: one of 2,000 replicas more in each of 2,000 changes", after: self.manyReplicas) {
                member in
                (1...2_000).map { number in
                    let context = [self.point(member.head(of: number))]
                    return member.run([Draft(edits: [.set(self.object(0), name: "n", value: .null)], context: context)])
                }
            },
            Expense("context: 8,000 replicas, each of which has seen the one before") { member in
                (0..<8_000).map { number in
                    let context = number == 0 ? [] : [self.point(member.head(of: number - 1))]
                    return member.run([Draft(edits: [], context: context)], on: number)
                }
            },
            Expense("fork: 16,000 forks of one change", after: self.opening) { member in
                (0..<16_000).map { number in
                    member.run([Draft(edits: [.set(self.object(number), name: "n", value: .null)])], forking: true)
                }
            },
            Expense("fork: a fork of each of 2,000 forks", after: self.opening) { member in
                (0..<2_000).flatMap { number in
                    let edits = [Edit.set(self.object(number), name: "n", value: .null)]
                    return [member.run([Draft(edits: edits)], forking: true), member.run([Draft(edits: edits)])]
                }
            },
            Expense("fork: 2,000 forks of a change that has seen 2,000 replicas", after: self.wideChange) { member in
                (0..<2_000).map { number in
                    let edit = Edit.set(self.object(number), name: "n", value: .null)
                    return member.run([Draft(edits: [edit])], forking: true)
                }
            },
            Expense("fork: a fork of each of 2,000 changes after such a one", after: self.wideChange) { member in
                let runs = (0..<2_000).map { number in
                    let edits = [Edit.set(self.object(number), name: "n", value: .null)]
                    let fork = member.run([Draft(edits: edits)], forking: true)
                    return (fork, next: member.run([Draft(edits: edits)]))
                }
                return runs.map(\.next) + runs.map(\.0)
            },
            Expense(
                "fork: 1,000 conflicts of one property, and 120,000 sets beside them",
                after: self.opening
            ) { member in
                let edit = Edit.set(self.object(0), name: "n", value: .null)
                let forks = (0..<1_000).map { _ in member.run([Draft(edits: [edit])], forking: true) }
                let drafts = (0..<2).map { _ in Draft(edits: Array(repeating: edit, count: 60_000)) }
                return forks + drafts.map { member.run([$0], on: 1) }
            },
            Expense("fork: 1,000 forks that write the same 250 properties", after: self.opening) { member in
                self.contest(member)
            },
            Expense("fork: the same, of a change that has seen 2,000 replicas", after: self.wideChange) { member in
                self.contest(member)
            },
            Expense("fork: 1,000 forks of one change", after: self.opening) { member in
                (0..<1_000).map { number in
                    member.run([Draft(edits: [.set(self.object(number), name: "n", value: .null)])], forking: true)
                }
            },
            Expense(
                "restamp: 30,000 of one change",
                after: self.otherChain
            ) { member in
                let head = member.head(of: 1)
                return self.runs(
                    member,
                    (1...30_000).map { number in
                        .restamp(
                            Restamp(
                                replica: head.replica,
                                firstSequence: UInt64(number % 4_000 + 1),
                                lastSequence: head.sequence,
                                lastHash: head.hash
                            )
                        )
                    }
                )
            },
            Expense(
                "restamp: 100 runs, each of 4,000 changes",
                after: self.otherChain
            ) { member in
                let head = member.head(of: 1)
                return (0..<100).map { number in
                    let restamp = Restamp(
                        replica: head.replica,
                        firstSequence: UInt64(1 + number),
                        lastSequence: head.sequence,
                        lastHash: head.hash
                    )
                    return member.run([Draft(edits: [.restamp(restamp)])])
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
            Expense("restamp: 30,000 of what a chain has yet to write, and 1,000 changes of it") { member in
                let opening = member.run([], on: 1)
                let head = member.head(of: 1)
                let restamps = self.runs(
                    member,
                    (1...30_000).map { number in
                        .restamp(
                            Restamp(
                                replica: head.replica,
                                firstSequence: 1,
                                lastSequence: 2 + UInt64(number % 1_000),
                                lastHash: Hash256(bytes: Bytes32(UInt64(number), 1, 2, 3))
                            )
                        )
                    }
                )
                return [opening] + restamps
                    + (0..<1_000).map { _ in
                        member.run([Draft(edits: [.set(self.object(0), name: "n", value: .null)])], on: 1)
                    }
            },
            Expense("restamp: 30,000 of chains that nobody knows, and 1,000 changes") { member in
                let restamps = self.runs(
                    member,
                    (1...30_000).map { _ in
                        .restamp(
                            Restamp(
                                replica: member.unknownReplica(),
                                firstSequence: 1,
                                lastSequence: 1,
                                lastHash: .zero
                            )
                        )
                    }
                )
                return restamps
                    + (0..<1_000).map { _ in
                        member.run([Draft(edits: [.set(self.object(0), name: "n", value: .null)])])
                    }
            },
        ]
    }
}
