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
                        let edits: [Edit] = [.branch(.belongs(self.branch(member, number))), self.touch(number)]
                        return member.run([Draft(edits: edits)], on: number)
                    }
            },
            Expense("undo: 60,000 of a change that nobody knows") { member in
                let undo = Undo(replica: member.unknownReplica(), sequence: 1, hash: .zero, isRedo: false)
                return self.runs(member, (0..<60_000).map { _ in .undo(undo) })
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

    /// What a relay makes of runs: the content of every write is gone.
    private static func redacted(_ messages: [Message]) -> [Message] {
        messages.map { message in
            guard case .run(let run) = message else { return message }
            return .run(run.erasing(Set(run.operations.indices), SodiumCryptography())?.run ?? run)
        }
    }

    private static func branch(_ member: CostlyMember, _ number: Int) -> BranchID {
        BranchID(of: member.user, nonce: UInt64(number))
    }

    private static func opening(_ member: CostlyMember, _ number: Int, name: String = "b") -> BranchOpening {
        BranchOpening(id: self.branch(member, number), parent: nil, name: name, base: [])
    }
}
