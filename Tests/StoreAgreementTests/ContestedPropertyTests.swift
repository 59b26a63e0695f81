import CRDTCore
import MergeModel
import Persistence
import Testing

/// Two properties that very many forks write, each having seen some of the others, in any order of arrival.
///
/// Other histories have few writes that conflict; here there are more than a store loads at once, and contexts of more
/// segments than a row has room for.
@Suite struct ContestedPropertyTests {
    private static let object = ObjectID(bytes: Bytes16(high: 3, low: 0))

    private static func history(_ random: inout SplitMix64, changeCount: Int) -> GeneratedHistory {
        var history = GeneratedHistory()
        history.objects = [self.object]
        for number in 0..<3 as Range<UInt64> {
            let device = TestDevice(number: number + 1, user: TestDevice.user)
            let nonce = Bytes16(high: 4, low: number)
            let replica = device.replica(nonce: nonce)
            history.devices[replica] = device
            let creation: [Edit] = number == 0 ? [.create(self.object, type: "note", kind: "")] : []
            history.append(
                replica,
                stamp: Stamp(milliseconds: 1_000),
                [.introduce(device.introduction(nonce: nonce))] + creation
            )
        }
        let roots = history.changes
        for number in 0..<changeCount {
            // Most leave one of few changes, as siblings; some follow what was written last.
            let known = history.changes
            let parent = random.chance(60) ? random.pick(roots) : random.pick(Array(known.suffix(20)))
            var seen = random.chance(50) ? [roots[0].point] : []
            let seenCount = random.chance(8) ? known.count * 3 / 4 : random.below(5)
            for _ in 0..<seenCount { seen.append(random.pick(known).point) }
            let edits = (0..<1 + random.below(2)).map { _ in
                let name = random.chance(70) ? "title" : "note"
                return random.chance(10)
                    ? Edit.unset(self.object, name: name) : .set(self.object, name: name, value: .int(Int64(number)))
            }
            history.append(
                parent.replica,
                after: parent.hash,
                stamp: Stamp(milliseconds: 1_000 + UInt64(random.below(500))),
                context: Array(Set(seen)).sorted().filter { $0.replica != parent.replica || random.chance(50) },
                salt: UInt64(number) + 1,
                edits
            )
        }
        history.end = WallTime(milliseconds: 1_000_000)
        return history
    }

    private static func check<Store: ReplicaStore & ~Copyable>(
        _ history: GeneratedHistory,
        _ store: consuming Store,
        _ random: inout SplitMix64
    ) throws {
        let node = TestNode(store: store, objects: history.objects, now: history.end)
        var rest = history.changes
        while !rest.isEmpty {
            // What follows from each other stays in order: only then can a fork be hung on.
            var batch: [NaiveChange] = []
            for _ in 0..<1 + random.below(40) {
                let fits = rest.indices.filter { position in
                    rest[position].previous.map { previous in
                        node.stored.contains(previous) || batch.contains { $0.hash == previous }
                    } ?? true
                }
                guard let position = fits.isEmpty ? nil : random.pick(fits) else { break }
                batch.append(rest.remove(at: position))
            }
            try node.receive(batch.map { history.sealed([$0]) })
            guard rest.isEmpty || random.chance(20) else { continue }
            let expected = NaiveModel(history.naive(node.stored, now: node.now)).state()
            let state = try node.state()
            #expect(state == expected, "\(state.differences(from: expected))")
        }
    }

    @Test(arguments: Seeds.range(from: 14_000, count: 4))
    func `what conflicts and what is in force is the same for both stores and the model`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let history = Self.history(&random, changeCount: 130)
        let origin = ChainHash.origin(TestDevice.workspace)
        let directories = try Directories()
        try Self.check(history, MemoryStore(origin: origin), &random)
        try Self.check(history, try SQLiteStore(directory: directories.next(), origin: origin), &random)
    }
}
