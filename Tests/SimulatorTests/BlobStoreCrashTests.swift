import CRDTCore
import Engine
import Simulation
import SyncProtocol
import Testing

/// A blob store on a disk that loses power at each of its calls in turn.
@Suite struct BlobStoreCrashTests {
    private typealias Store = BlobStore<SimulatedBlobDisk>

    /// What lies in the store of whoever sends.
    private struct Sample {
        let root: BlobRoot
        let shape: BlobShape
        let content: [UInt8]
    }

    private static let small = content(1_000, salt: 1)
    private static let large = content(3 * BlobShape.leafByteCount + 5, salt: 2)

    private static func content(_ byteCount: Int, salt: Int) -> [UInt8] {
        (0..<byteCount).map { UInt8(truncatingIfNeeded: ($0 &* 31 &+ salt) >> 3 ^ $0 >> 16) }
    }

    @Test(arguments: PowerLoss.allCases)
    func `what was said to be here is here after a power cut at any call`(outcome: PowerLoss) throws {
        var (source, sample) = try Self.source()
        var call = 1
        while true {
            let disk = SimulatedDisk(seed: UInt64(call))
            disk.faults.ending = (call, .powerCut(outcome))
            var life = Life(store: Store(disk: SimulatedBlobDisk(on: disk)))
            if life.run(sample, &source) { break }
            disk.start()
            try Self.check(life, on: disk, sample, &source, "call \(call)")
            call += 1
        }
        #expect(call > 50, "the life of a store has so many calls")
    }

    @Test func `a leaf that a pause has noted is not looked at, and any other one is`() throws {
        var (source, sample) = try Self.source()
        let disk = SimulatedDisk(seed: 1)
        var store = Store(disk: SimulatedBlobDisk(on: disk))
        try Self.fetch(sample, leaves: [3, 1], from: &source, into: &store)
        // The process ends without a pause: both are found again.
        disk.end(.kill)
        disk.start()
        store = Store(disk: SimulatedBlobDisk(on: disk))
        #expect(try store.resume(sample.root, sample.shape).leaves.count == 0)
        #expect(try store.look(atGroup: 0, of: sample.root, sample.shape).leaves.count == 2)
        try store.pause(sample.root)
        store = Store(disk: SimulatedBlobDisk(on: disk))
        #expect(try store.resume(sample.root, sample.shape).leaves.count == 2)
        try Self.fetch(sample, leaves: [0, 2], from: &source, into: &store)
        try store.complete([sample.root])
        #expect(try store.isIntact(sample.root, sample.shape))
    }

    @Test func `what is wrong is refused, and what rots is found`() throws {
        var (source, sample) = try Self.source()
        let disk = SimulatedDisk(seed: 1)
        var store = Store(disk: SimulatedBlobDisk(on: disk))
        let (root, shape) = (sample.root, sample.shape)
        let leaf = try source.leaf(2, of: root, shape)
        #expect(throws: BlobFailure.absent) { try store.take(leaf, leaf: 2, of: root, shape) }
        var proof = try source.proof(group: 0, of: root, shape)
        proof.leaves.swapAt(0, 1)
        #expect(throws: BlobFailure.wrong) { try store.take(proof, group: 0, of: root, shape) }
        #expect(throws: BlobFailure.wrong) { try store.take(proof, group: 1, of: root, shape) }
        try store.take(try source.proof(group: 0, of: root, shape), group: 0, of: root, shape)
        for wrong in [0, 1, 3, 4, -1] {
            #expect(throws: BlobFailure.wrong) { try store.take(leaf, leaf: wrong, of: root, shape) }
        }
        #expect(throws: BlobFailure.wrong) { try store.take(Array(leaf.dropLast()), leaf: 2, of: root, shape) }
        #expect(throws: BlobFailure.absent) { try store.leaf(2, of: root, shape) }
        try Self.fetch(sample, leaves: [0, 1, 2, 3], from: &source, into: &store)
        #expect(try store.leaf(2, of: root, shape) == leaf)
        try store.complete([root])
        for (file, offset) in [(BlobFile.content(root), 70_000), (.tree(root), 40)] {
            disk.rot("media/" + file.path, at: offset)
            #expect(throws: BlobFailure.damaged) { try store.leaf(1, of: root, shape) }
            #expect(try !store.isIntact(root, shape))
            disk.rot("media/" + file.path, at: offset)
            #expect(try store.isIntact(root, shape))
        }
    }

    // MARK: -

    /// What a store does in its life, and what it has said.
    private struct Life {
        var store: Store
        var held: [BlobRoot: BlobShape] = [:]
        var inTrash: Set<BlobRoot> = []
        var erased: Set<BlobRoot> = []

        init(store: Store) { self.store = store }

        /// Whether no call failed.
        mutating func run(_ sample: Sample, _ source: inout Store) -> Bool {
            do {
                try BlobStoreCrashTests.fetch(sample, leaves: [2, 0], from: &source, into: &self.store)
                try self.store.pause(sample.root)
                let small = try BlobStoreCrashTests.copy(BlobStoreCrashTests.small, number: 1, into: &self.store)
                self.held[small.root] = small.shape
                try BlobStoreCrashTests.fetch(sample, leaves: [3, 1], from: &source, into: &self.store)
                try self.store.complete([sample.root])
                self.held[sample.root] = sample.shape
                self.held[small.root] = nil
                try self.store.discard(small.root)
                self.inTrash = [small.root]
                try self.writeAgain(sample)
                self.inTrash = []
                try self.store.bringBack(small.root)
                self.held[small.root] = small.shape
                try self.writeAgain(sample)
                self.held[small.root] = nil
                try self.store.erase(small.root)
                self.erased.insert(small.root)
                let empty = try BlobStoreCrashTests.copy([], number: 3, into: &self.store)
                self.held[empty.root] = empty.shape
                return true
            } catch {
                return false
            }
        }

        private mutating func writeAgain(_ sample: Sample) throws {
            let again = try BlobStoreCrashTests.copy(sample.content, number: 2, into: &self.store)
            #expect(again.root == sample.root)
        }
    }

    private static func check(
        _ life: Life,
        on disk: SimulatedDisk,
        _ sample: Sample,
        _ source: inout Store,
        _ place: Comment
    ) throws {
        var store = Store(disk: SimulatedBlobDisk(on: disk))
        for (root, shape) in life.held { #expect(try store.isIntact(root, shape), place) }
        let files = try store.files()
        for root in life.inTrash { #expect(files.contains(.trash(root)), place) }
        for root in life.erased {
            let traces: [BlobFile] = [.content(root), .tree(root), .trash(root), .incoming(root), .leaves(root)]
            #expect(Set(traces).isDisjoint(with: files), place)
        }
        // Whatever has its place is whole, also if nobody was told.
        for case .content(let root) in files where root == sample.root {
            #expect(try store.isIntact(root, sample.shape), place)
        }
        // And all goes on from here.
        if try !store.holds(sample.root, sample.shape) {
            try Self.fetch(sample, leaves: [0, 1, 2, 3], from: &source, into: &store)
            try store.complete([sample.root])
        }
        #expect(try store.isIntact(sample.root, sample.shape), place)
        let small = try Self.copy(Self.small, number: 9, into: &store)
        #expect(try store.isIntact(small.root, small.shape), place)
    }

    private static func source() throws -> (Store, Sample) {
        var store = Store(disk: SimulatedBlobDisk(on: SimulatedDisk(seed: 0)))
        let (root, shape) = try Self.copy(Self.large, number: 1, into: &store)
        return (store, Sample(root: root, shape: shape, content: Self.large))
    }

    private static func copy(
        _ content: [UInt8],
        number: UInt64,
        into store: inout Store
    ) throws -> (root: BlobRoot, shape: BlobShape) {
        var copy = Store.Copy(number: number)
        var rest = content[...]
        while !rest.isEmpty {
            try store.append(Array(rest.prefix(100_000)), to: &copy)
            rest = rest.dropFirst(100_000)
        }
        return try store.complete(copy)
    }

    private static func fetch(
        _ sample: Sample,
        leaves: [Int],
        from source: inout Store,
        into store: inout Store
    ) throws {
        for leaf in leaves {
            let group = leaf >> BlobShape.groupLevel
            let arrival = try store.look(atGroup: group, of: sample.root, sample.shape)
            if !arrival.groups.contains(group) {
                let proof = try source.proof(group: group, of: sample.root, sample.shape)
                try store.take(proof, group: group, of: sample.root, sample.shape)
            }
            guard !arrival.leaves.contains(leaf) else { continue }
            let content = try source.leaf(leaf, of: sample.root, sample.shape)
            try store.take(content, leaf: leaf, of: sample.root, sample.shape)
        }
    }
}
