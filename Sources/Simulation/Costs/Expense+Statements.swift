internal import CRDTCore
internal import MergeModel
internal import SyncProtocol

/// What says something about other changes: branches, undos, erasures, and writes whose content is gone.
extension Expense {
    package static var statements: [Expense] {
        [
            Expense("branch: 15,000 openings") { member in
                self.runs(member, (0..<15_000).map { .branch(.opens(self.opening(member, $0))) })
            },
            Expense("branch: 15,000 openings of one branch") { member in
                self.runs(member, (0..<15_000).map { .branch(.opens(self.opening(member, 0, name: "\($0)"))) })
            },
            Expense("branch: 60,000 closings") { member in
                self.runs(member, (0..<60_000).map { .branch(.closes(self.branch(member, $0))) })
            },
            Expense("branch: 500 chains on 500 open branches") { member in
                self.runs(member, (0..<500).map { .branch(.opens(self.opening(member, $0))) })
                    + (1...500).map { number in
                        member.run([Draft(edits: [self.touch(number)])], on: number, of: self.branch(member, number))
                    }
            },
            Expense("branch: 10,000 merges of 1,000 chains of one", after: self.chainsOfOneBranch) { member in
                self.statements(member, 10_000, .merges(self.branch(member, 0)))
            },
            Expense("branch: 10,000 closings of 1,000 chains of one", after: self.chainsOfOneBranch) { member in
                self.statements(member, 10_000, .closes(self.branch(member, 0)))
            },
            Expense("branch: 60,000 merges of branches that nobody knows, in one go", after: self.chainsOfOneBranch) {
                member in
                self.runs(member, (0..<60_000).map { .branch(.merges(self.branch(member, $0 + 1))) })
            },
            Expense("branch: 1,000 that are merged one into the other, and the last") { member in
                let opened = self.runs(member, (0..<1_000).map { .branch(.opens(self.opening(member, $0))) })
                let nested = (1..<1_001).map { number in
                    let other = self.point(member.head(of: number - 1))
                    let statement = Edit.branch(.merges(number > 1 ? self.branch(member, number - 1) : nil))
                    let draft = Draft(edits: [statement, self.touch(number)], context: [other])
                    return member.run([draft], on: number, of: self.branch(member, number))
                }
                let last = Draft(
                    edits: [.branch(.merges(self.branch(member, 1_000)))],
                    context: [self.point(member.head(of: 1_000))]
                )
                return opened + nested + [member.run([last])]
            },
            Expense(
                "branch: a chain that sees 5,000 merges of another, one by one",
                after: { member in
                    self.chainsOfOneBranch(member) + self.statements(member, 5_000, .merges(self.branch(member, 0)))
                },
                { member in
                    let first = member.head(of: 0).sequence - 4_999
                    let replica = member.head(of: 0).replica
                    return (0..<5).map { part in
                        let drafts = (0..<1_000).map { number in
                            let sequence = first + UInt64(1_000 * part + number)
                            let name = ChangeName(member.hash(of: sequence, on: 0))
                            let point = Point(replica: replica, sequence: sequence, name: name)
                            return Draft(edits: [self.touch(number)], context: [point])
                        }
                        return member.run(drafts, on: 5_000)
                    }
                }
            ),
            Expense("undo: 60,000 of a change that nobody knows") { member in
                let target = NamedChange(replica: member.unknownReplica(), sequence: 1, hash: .zero)
                let undo = Undo(target: target, isRedo: false)
                return self.runs(member, (0..<60_000).map { _ in .undo(undo) })
            },
            Expense("undo: 20,000 changes that take back one", after: self.twoWrites) { member in
                (0..<20).map { part in member.run((0..<1_000).map { self.undo(member, 1_000 * part + $0) }) }
            },
            Expense("undo: 1,000 chains that take back one change, 10 times each", after: self.twoWrites) { member in
                let written = member.head(of: 0)
                return (1...1_000).map { chain in
                    var drafts = (0..<10).map { self.undo(member, $0) }
                    drafts[0].context = [self.point(written)]
                    return member.run(drafts, on: chain)
                }
            },
            Expense("erase: 30,000 properties, with a write behind each") { member in
                let keys = (0..<30_000).map { (self.object($0 % 1_000), "n\($0 / 1_000)") }
                let erasures = keys.map { Edit.erase(Erasure(object: $0.0, name: $0.1)) }
                return self.runs(member, erasures + keys.map { .set($0.0, name: $0.1, value: .null) })
            },
            Expense("redacted: one property of each of 60,000 objects") { member in
                self.redacted(self.runs(member, (0..<60_000).map { self.touch($0) }))
            },
            Expense("redacted: one property 60,000 times") { member in
                self.redacted(self.runs(member, (0..<60_000).map { _ in self.touch(0) }))
            },
            Expense(
                "redacted: 30,000 properties, over writes that are redacted too",
                after: { member in self.redacted(self.runs(member, (0..<30_000).map { self.touch($0) })) },
                { member in self.redacted(self.runs(member, (0..<30_000).map { self.touch($0) })) }
            ),
            Expense("redacted: one property in each of 20,000 changes") { member in
                let drafts = Array(repeating: Draft(edits: [self.touch(0)]), count: 4_000)
                return self.redacted((0..<5).map { _ in member.run(drafts) })
            },
            Expense("redacted: one property in each of 1,000 chains") { member in
                self.redacted((0..<1_000).map { member.run([Draft(edits: [self.touch(0)])], on: $0) })
            },
            Expense("redacted: 250 properties, twice on each of 400 chains") { member in
                let edits = (0..<250).map { self.touch($0) }
                let drafts = [Draft(edits: edits), Draft(edits: edits)]
                return self.redacted((0..<400).map { member.run(drafts, on: $0) })
            },
            Expense("rights: 60,000 removals of machines that nobody has") { member in
                self.runs(member, (0..<60_000).map { self.removal(ofMachine: $0) })
            },
            Expense(
                "rights: 500 more, one by one, behind 20,000",
                dripped: true,
                after: { member in self.runs(member, (0..<20_000).map { self.removal(ofMachine: $0) }) },
                { member in (20_000..<20_500).map { member.run([Draft(edits: [self.removal(ofMachine: $0)])]) } }
            ),
            Expense("rights: 10,000 grants to one person, and 10,000 removals of him") { member in
                let user = UserID(bytes: Bytes32(0, 0, 8, 0))
                let grants = Array(repeating: Edit.rights(.grants(.init(to: user, .writer))), count: 10_000)
                let removals = Array(repeating: Edit.rights(.removes(.init(of: user, from: [.writer]))), count: 10_000)
                return self.runs(member, grants + removals)
            },
            Expense("wanted: 256 changes that nobody knows") { member in
                let entries = (0..<256).map { _ in
                    FrontierEntry(replica: member.unknownReplica(), sequence: 1, hash: .zero)
                }
                return [
                    .wanted(entries.sorted().map { WantedContent(change: $0, places: OperationRanges([0])) })
                ]
            },
        ]
    }

    private static func removal(ofMachine number: Int) -> Edit {
        .rights(.removesDevice(.init(of: DeviceID(bytes: Bytes32(0, 0, 9, UInt64(number))))))
    }

    /// What a relay makes of runs: the content of every write is gone.
    private static func redacted(_ messages: [Message]) -> [Message] {
        messages.map { message in
            guard case .run(let run) = message else { return message }
            return .run(run.erasing(Set(run.operations.indices), SodiumCryptography())?.run ?? run)
        }
    }

    /// A branch with a thousand chains.
    private static func chainsOfOneBranch(_ member: CostlyMember) -> [Message] {
        self.runs(member, [.branch(.opens(self.opening(member, 0)))])
            + (1...1_000).map { number in
                member.run([Draft(edits: [self.touch(number)])], on: number, of: self.branch(member, 0))
            }
    }

    /// Changes of the main timeline that each name another of a thousand chains, and say something of it.
    private static func statements(_ member: CostlyMember, _ count: Int, _ statement: BranchStatement) -> [Message] {
        stride(from: 0, to: count, by: 1_000).map { start in
            let drafts = (start..<min(start + 1_000, count)).map { number in
                Draft(edits: [.branch(statement)], context: [self.point(member.head(of: 1 + number % 1_000))])
            }
            return member.run(drafts)
        }
    }

    private static func branch(_ member: CostlyMember, _ number: Int) -> BranchID {
        BranchID(of: member.user, nonce: UInt64(number))
    }

    private static func twoWrites(_ member: CostlyMember) -> [Message] {
        [member.run([Draft(edits: [self.touch(1)]), Draft(edits: [self.touch(1)])])]
    }

    /// A change that takes back the second of two writes.
    private static func undo(_ member: CostlyMember, _ number: Int) -> Draft {
        let replica = member.head(of: 0).replica
        let named = [2, 3].map { sequence in
            NamedChange(replica: replica, sequence: sequence, hash: member.hash(of: sequence, on: 0))
        }
        return Draft(edits: [.undo(Undo(target: named[1], isRedo: false, next: named[0])), self.touch(number)])
    }

    private static func opening(_ member: CostlyMember, _ number: Int, name: String = "b") -> BranchOpening {
        BranchOpening(id: self.branch(member, number), parent: nil, name: name, base: [])
    }
}
