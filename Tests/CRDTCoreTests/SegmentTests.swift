import CRDTCore
import MergeModel
import Testing

/// How a store keeps a chain that has forked.
struct SegmentTests {
    private static let names = ["a1", "a2", "a3", "a4", "a3'", "a4'", "a4''", "a1'"]

    private static let sample: TreeSample = {
        var sample = TreeSample()
        sample.open("a1", device: 1)
        sample.write("a2", after: "a1")
        sample.write("a3", after: "a2")
        sample.write("a4", after: "a3")
        sample.write("a3'", after: "a2")
        sample.write("a4'", after: "a3'")
        sample.write("a4''", after: "a3'")
        sample.open("a1'", device: 1)
        return sample
    }()

    @Test func `in every order there is a segment for each leaf, and all that is asked of them is right`() throws {
        let sample = Self.sample
        let leaves = ["a4", "a4'", "a4''", "a1'"].map { sample[$0] }
        let frontier = Frontier(
            leaves.map { FrontierEntry(replica: $0.replica, sequence: $0.sequence, hash: $0.hash) }
        )
        let orders = sample.orders(of: Self.names)
        #expect(orders.count == 160)
        for order in orders {
            let store = try sample.store(order)
            let places = try Self.names.map { try #require(try store.place(sample[$0]), "\(order)") }
            #expect(Set(places).count == places.count, "\(order)")
            try store.read { transaction throws(StoreError) in
                #expect(try Frontier(of: &transaction) == frontier, "\(order)")
                #expect(transaction.segmentCount == 4, "\(order)")
                let replica = leaves[0].replica
                #expect(transaction.segments(of: replica).count == 4, "\(order)")
                #expect(transaction.places(of: replica, sequence: 4).count == 3, "\(order)")
                for (name, place) in zip(Self.names, places) {
                    let change = sample[name]
                    #expect(try transaction.place(of: change.point) == place)
                    #expect(transaction.header(at: place) == ChangeHeader(stamp: change.stamp, hash: change.hash))
                    #expect(transaction.segment(place.segment).device == sample.history.devices[replica]?.device)
                    let path = sample.history.path(to: change.hash).map(\.hash)
                    for (other, otherPlace) in zip(Self.names, places) {
                        let otherPath = sample.history.path(to: sample[other].hash).map(\.hash)
                        let common = zip(path, otherPath).prefix { $0 == $1 }.last?.0
                        let found = transaction.commonPlace(place, otherPlace)
                        let hash = found.sequence == 0 ? nil : try transaction.hash(at: found)
                        #expect(hash == common, "\(order): \(name) and \(other)")
                        #expect(transaction.isWithin(place, otherPlace) == otherPath.contains(change.hash))
                    }
                    // What a run says that it continues, as soon as there is more than one such change.
                    let run = transaction.loadRun(
                        of: place.segment,
                        from: place.sequence,
                        limits: RunLimits(),
                        signed: true
                    )
                    #expect(run?.previous == change.previous.map { ChangeName($0) }, "\(order): \(name)")
                }
            }
        }
    }

    @Test func `runs that begin or end on a fork are cut where the store needs it`() throws {
        let sample = Self.sample
        let store = try SampleStore()
        let (first, _) = try store.receive([sample.run("a1", "a2", "a3")])
        let (second, summary) = try store.receive([sample.run("a1", "a2", "a3'", "a4'")])
        #expect(first + second == [.stored, .stored])
        #expect(summary.storedChangeCount == 2)
        #expect(summary.forked == [sample["a1"].replica])
        let (others, others1) = try store.receive(
            [
                sample.run("a2", "a3'", "a4'"), sample.run("a4''"), sample.run("a3'", "a4''"), sample.run("a1'"),
                sample.run("a1", "a2", "a3", "a4"),
            ]
        )
        #expect(others == [.duplicate, .stored, .duplicate, .stored, .stored])
        #expect(others1.forked == [sample["a1"].replica])
        #expect(try store.read { $0.segmentCount } == 4)
    }

    @Test func `what continues a change that is not here does not fit`() throws {
        let sample = Self.sample
        let store = try SampleStore()
        #expect(try store.receive([sample.run("a2")]).0 == [.doesNotFit])
        #expect(
            try store.receive([sample.run("a1"), sample.run("a3"), sample.run("a2")]).0 == [
                .stored, .doesNotFit, .stored,
            ]
        )
        // The other change with that sequence is.
        #expect(try store.receive([sample.run("a3"), sample.run("a4'")]).0 == [.stored, .doesNotFit])
        #expect(try store.read { $0.segmentCount } == 1)
    }
}
