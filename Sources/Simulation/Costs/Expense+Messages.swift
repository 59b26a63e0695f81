internal import CRDTCore
internal import SyncProtocol

/// What a session understands beside runs, after 2,000 replicas have come.
extension Expense {
    static func manyReplicas(_ member: CostlyMember) -> [Message] {
        (1...2_000).map { member.run([], on: $0) }
    }

    /// What 4,000 replicas would have that nobody knows.
    private static func unknownEntries(_ member: CostlyMember) -> [FrontierEntry] {
        (0..<4_000).map { _ in FrontierEntry(replica: member.unknownReplica(), sequence: 1, hash: .zero) }.sorted()
    }

    private static func claims(_ member: CostlyMember, _ count: Int) -> [Message] {
        let own = member.deviceReplica
        return (0..<count).map { number in
            .stored([FrontierEntry(replica: own, sequence: 1_000 + UInt64(number), hash: .zero)])
        }
    }

    package static var messages: [Expense] {
        [
            Expense("run: one of 100 changes 500 times") { member in
                let run = member.run(Array(repeating: Draft(edits: [self.touch(0)]), count: 100))
                return Array(repeating: run, count: 500)
            },
            Expense("ping: 20,000", after: self.manyReplicas) { _ in
                Array(repeating: .ping(MeasuredDevice.start), count: 20_000)
            },
            Expense("pong: 20,000", after: self.manyReplicas) { _ in
                Array(repeating: .pong(MeasuredDevice.start), count: 20_000)
            },
            Expense("caughtUp: 20,000", after: self.manyReplicas) { _ in Array(repeating: .caughtUp, count: 20_000) },
            Expense("credit: 20,000 of nothing", after: self.manyReplicas) { _ in
                Array(repeating: .credit(0), count: 20_000)
            },
            Expense("eagerness: 20,000", after: self.manyReplicas) { _ in
                (0..<20_000).map { .eagerness($0 % 2 == 0) }
            },
            Expense("stored: 100 of 4,000 entries that nobody knows", after: self.manyReplicas) { member in
                (0..<100).map { _ in .stored(self.unknownEntries(member)) }
            },
            Expense("stored: 20,000 of one entry of a chain that is longer", after: self.manyReplicas) { member in
                let head = member.head(of: 1)
                return (0..<20_000).map { number in
                    .stored([FrontierEntry(replica: head.replica, sequence: 1 + UInt64(number), hash: .zero)])
                }
            },
            Expense("stored: 20,000 that claim more of our own chain") { self.claims($0, 20_000) },
            Expense("stored: 400 that claim more of our own chain, by each of 50 devices", peers: 50) {
                self.claims($0, 400)
            },
            Expense("stored: 4,000 that claim more of our own chain, by each of 50 devices", peers: 50) {
                self.claims($0, 4_000)
            },
            Expense("given: 20,000 that nobody awaits", after: self.manyReplicas) { _ in
                Array(repeating: .given, count: 20_000)
            },
            Expense("member: 2,000 introductions of one that is known", after: self.manyReplicas) { member in
                Array(repeating: .member(member.introduction), count: 2_000)
            },
            Expense("ranges: 2,000 of one fingerprint", after: self.manyReplicas) { _ in
                Array(repeating: .ranges([FrontierRange(end: nil, claim: .fingerprint(.zero))]), count: 2_000)
            },
            Expense("ranges: 20 of 4,000 entries", after: self.manyReplicas) { member in
                (0..<20).map { _ in
                    .ranges([FrontierRange(end: nil, claim: .answer(self.unknownEntries(member)))])
                }
            },
            Expense("probe: 4,000 of 64 points", after: self.manyReplicas) { member in
                let points = (1...64).map { ChainPoint(sequence: $0, hash: .zero) }
                let probe = ChainProbe(replica: member.head(of: 1).replica, points: points)
                return Array(repeating: .probe(probe), count: 4_000)
            },
            Expense("state: 20,000 of another frontier", after: self.manyReplicas) { _ in
                (0..<20_000).map { number in
                    .state(StateClaim(frontier: .zero, root: Hash256(bytes: Bytes32(0, 0, 0, number))))
                }
            },
            Expense("sums: 200 that nobody awaits", after: self.manyReplicas) { _ in
                let sums = Array(repeating: UInt64(7), count: SettledDigest.groupCount)
                return Array(repeating: .sums(StateSums(frontier: .zero, sums: sums)), count: 200)
            },
            Expense("objects: 20,000 of 16 groups that nobody awaits", after: self.manyReplicas) { _ in
                let groups = Array(0..<MessageLimits.listedGroupCountMax)
                let told = StateObjects(frontier: .zero, groups: groups, objects: [])
                return Array(repeating: .objects(told), count: 20_000)
            },
            Expense("ended: 200 of 256 circles that nobody knows") { member in
                let ended = (0..<MessageLimits.endedCircleCountMax).map { number in
                    EndedCircle(.shared(owner: member.user, nonce: Bytes16(high: 7, low: UInt64(number))))
                }
                return (0..<200).map { .ended(Array(ended.dropLast($0 % 2))) }
            },
            Expense("parcel: 20,000 for one device") { try $0.parcels(20_000, forEach: 1) },
            Expense("parcel: 15,000 for 64 devices") { member in
                try member.parcels(15_000, forEach: ParcelLimits.recipientCountMax)
            },
        ]
    }
}
