package import CRDTCore

/// The few objects, names and values that plans name by number, so that what peers write apart collides.
package enum PlanVocabulary {
    package static let objectCount = 6
    /// The objects, in an order unlike that of their numbers.
    package static let objects = (0..<PlanVocabulary.objectCount).map { number in
        ObjectID(bytes: Bytes16(high: SplitMix64.mixed(UInt64(number) + 7), low: UInt64(number)))
    }
    package static let names = ["", "ключ", "z", "body", "title"]
    /// Names that differ only in how a letter is composed.
    package static let lookalikes = ["\u{e9}", "e\u{301}"]
    /// The types and kinds of created objects.
    package static let sorts = [("note", ""), ("note", "k"), ("task", ""), ("task", "k"), ("", ""), ("", "k")]
    package static let positions = ["", "a0", "a0V", "a1", "Zz", "\u{1}", "~~~~"].map {
        Position(bytes: Array($0.utf8))
    }
    package static let values: [Value] =
        [
            .null, .bool(true), .bool(false), .int(0), .int(.min), .int(.max), .int(-1),
            .double(0.1), .double(bits: 0x8000_0000_0000_0000), .double(bits: 0x7ff8_0000_0000_0001),
            .double(bits: 0x7ff0_0000_0000_0001), .double(bits: 0xfff8_dead_beef_0000), .double(.infinity),
            .double(bits: 1), .string(""), .string("\u{e9}"), .string("e\u{301}"), .string("\u{0}"),
            .document("{\"a\":[1,2]}"), .bytes([]), .bytes([0, 255]),
        ] + recordings
    /// Two references to one blob, under different names.
    private static let recordings: [Value] = ["take 1.m4a", ""].compactMap { name in
        BlobReference(root: BlobRoot(bytes: .zero), byteCount: 1 << 40, mediaType: "audio/mp4", fileName: name)
            .map { .blob($0) }
    }
    /// The kinds of edits that no version of peerd knows yet.
    package static let unknownKinds: ClosedRange<UInt8> = 100...199
    package static let unknownByteCountMax: UInt8 = 4

    /// The time at which plans begin.
    package static let start = WallTime(milliseconds: 1_000_000_000_000)

    /// The user of a peer's device.
    package static func user(of peer: Int) -> UserID { peer % 3 == 0 ? TestDevice.user : TestDevice.otherUser }

    /// The device of a peer.
    package static func device(of peer: Int) -> TestDevice {
        TestDevice(number: UInt64(peer), user: PlanVocabulary.user(of: peer))
    }

    /// The nonce of the replica that writes a chain.
    ///
    /// `seed`: orders the ids of replicas in another way, unless it is 0.
    package static func nonce(ofChain chain: Int, seed: UInt64 = 0) -> Bytes16 {
        Bytes16(high: seed == 0 ? 5 : SplitMix64.mixed(seed), low: UInt64(chain))
    }

    /// The branch of the workspace that a chain belongs to where there are branches; nil for the main timeline.
    ///
    /// The two branches are of two users.
    package static func branch(ofChain chain: Int) -> BranchID? {
        let users = [TestDevice.user, TestDevice.otherUser]
        return chain % 3 == 0 ? nil : BranchID(of: users[chain % 3 - 1], nonce: UInt64(chain % 3))
    }

    /// What a change says of branches where there are any: one of three merges a timeline, and one of seven gives a
    /// branch up, by right or without.
    static func statements(ofChange number: Int) -> [Edit] {
        var statements: [Edit] = []
        if number % 3 == 0 { statements.append(.branch(.merges(self.branch(ofChain: number / 3 % 3)))) }
        if number % 7 == 0, let branch = self.branch(ofChain: 1 + number / 7 % 2) {
            statements.append(.branch(.closes(branch)))
        }
        return statements
    }
}

extension PlannedEdit {
    /// Returns the edit that the merge takes.
    ///
    /// `replica`: the replica that writes a chain. `change`: a change by its chain and its number there, from 1; nil if
    /// it is not written yet.
    package func edit(
        _ traits: MergePlan.Traits,
        replica: (_ chain: Int) -> ReplicaID,
        change: (_ chain: Int, _ number: Int) -> FrontierEntry?
    ) -> Edit {
        func object(_ number: UInt8) -> ObjectID { PlanVocabulary.objects[Int(number)] }
        func name(_ number: UInt8) -> String {
            traits.contains(.lookalikes)
                ? PlanVocabulary.lookalikes[Int(number) % PlanVocabulary.lookalikes.count]
                : PlanVocabulary.names[Int(number)]
        }
        switch self {
        case .create(let number, let sort):
            let (type, kind) = PlanVocabulary.sorts[Int(sort)]
            return .create(object(number), type: type, kind: kind)
        case .set(let number, let property, let value):
            return .set(object(number), name: name(property), value: PlanVocabulary.values[Int(value)])
        case .setNumber(let number, let property, let value):
            return .set(object(number), name: name(property), value: .int(Int64(value)))
        case .unset(let number, let property): return .unset(object(number), name: name(property))
        case .move(let number, let parent, let position):
            let place = Place(parent: parent.map { object($0) }, position: PlanVocabulary.positions[Int(position)])
            return .move(object(number), place)
        case .delete(let number): return .delete(object(number))
        case .unknown(let kind, let byteCount):
            return .unknown(kind: kind, body: (0..<byteCount).map { kind &* 31 &+ $0 })
        case .restamp(let chain, let first, let last):
            let (chain, first) = (Int(chain), UInt64(first))
            // A restamp of nothing names no change that exists.
            guard let last = change(chain, Int(last)) else {
                let replica = replica(chain)
                return .restamp(
                    Restamp(replica: replica, firstSequence: first, lastSequence: first, lastHash: .zero)
                )
            }
            let restamp = Restamp(
                replica: last.replica,
                firstSequence: min(first, last.sequence),
                lastSequence: last.sequence,
                lastHash: last.hash
            )
            return .restamp(restamp)
        }
    }
}
