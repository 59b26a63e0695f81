internal import CRDTCore
internal import SyncProtocol

/// Operations of each kind, as many as fit into what is sent.
extension Expense {
    package static var operations: [Expense] {
        [
            Expense("set: values of 1 MiB") { member in
                let value = Value.bytes(member.randomBytes(Limits.valueByteCountMax - 1))
                return (0..<3).flatMap { _ in
                    self.runs(member, (0..<5).map { .set(self.object($0), name: "v", value: value) })
                }
            },
            Expense("set: 60,000 properties of one object") { member in
                self.runs(member, (0..<60_000).map { .set(self.object(0), name: "n\($0)", value: .null) })
            },
            Expense("set: one property of each of 60,000 objects") { member in
                self.runs(member, (0..<60_000).map { self.touch($0) })
            },
            Expense("set: one property 60,000 times in a change") { member in
                self.runs(member, (0..<60_000).map { .set(self.object(0), name: "n", value: .int(Int64($0))) })
            },
            Expense("set: one property in each of 20,000 changes") { member in
                (0..<5).map { _ in member.run(Array(repeating: Draft(edits: [self.touch(0)]), count: 4_000)) }
            },
            Expense("set: 10,000 names of 500 bytes") { member in
                let name = String(repeating: "n", count: 500)
                return self.runs(member, (0..<10_000).map { .unset(self.object(0), name: name + String($0)) })
            },
            Expense("create: 60,000 objects") { member in
                self.runs(member, (0..<60_000).map { .create(self.object($0), type: "t", kind: "") })
            },
            Expense("create: one object 60,000 times") { member in
                self.runs(member, (0..<60_000).map { _ in .create(self.object(0), type: "t", kind: "") })
            },
            Expense("delete: 60,000 objects that nobody made") { member in
                self.runs(member, (0..<60_000).map { .delete(self.object($0)) })
            },
            Expense("unknown: bodies of 1 MiB") { member in
                (0..<3).flatMap { _ in
                    let bodies = (0..<5).map { _ in member.randomBytes(Limits.opaqueByteCountMax) }
                    return self.runs(member, bodies.map { .unknown(kind: 200, body: $0) })
                }
            },
            Expense("unknown: 60,000 empty ones") { member in
                self.runs(member, (0..<60_000).map { _ in .unknown(kind: 200, body: []) })
            },
        ]
    }
}
