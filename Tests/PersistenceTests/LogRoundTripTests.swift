import CRDTCore
import MergeModel
import Persistence
import Testing

@Suite struct LogRoundTripTests {
    private static let blobs: [Value] = [
        BlobReference(
            root: BlobRoot(bytes: Bytes32(1, 2, 3, 4)),
            byteCount: 1 << 40,
            mediaType: "audio/mp4",
            fileName: "e\u{301}/"
        ),
        BlobReference(root: BlobRoot(bytes: .zero), byteCount: 0, mediaType: "", fileName: ""),
    ].compactMap { $0.map { .blob($0) } }

    static let values: [Value] =
        [
            .null, .bool(false), .bool(true),
            .int(0), .int(1), .int(-1), .int(63), .int(64), .int(-65), .int(1 << 32), .int(.max), .int(.min),
            .double(0), .double(-0.0), .double(1), .double(-3), .double(0.1), .double(9_007_199_254_740_992),
            .double(.infinity), .double(-.infinity), .double(.leastNonzeroMagnitude), .double(.greatestFiniteMagnitude),
            .double(bits: 0x7ff8_0000_0000_0000), .double(bits: 0xfff8_dead_beef_0001),
            .double(bits: 0x7ff0_0000_0000_0001),
            .string(""), .string("text"), .string("zero \0 inside"), .string("e\u{301} and \u{e9}"), .string("42"),
            .string("\u{10ffff}"), .string(String(repeating: "long ", count: 3000)),
            .document("{\"a\":[1,2,null]}"), .document("[]"),
            .bytes([]), .bytes([0]), .bytes(Array(0...255)), .bytes([UInt8](repeating: 7, count: 20_000)),
        ] + blobs

    /// One edit of every kind, and one `set` of every value.
    private static var edits: [Edit] {
        var edits: [Edit] = Self.values.enumerated().map { position, value in
            .set(object(UInt64(position % 3)), name: "name \(position)", value: value)
        }
        edits += [
            .create(object(1), type: "folder", kind: ""), .create(object(2), type: "", kind: "kind"),
            .unset(object(1), name: "name 0"), .unset(object(9), name: ""),
            .move(object(1), Place(parent: object(2), position: Position(bytes: Array("a0".utf8)))),
            .move(object(2), Place(parent: nil, position: .initial)),
            .move(object(2), Place(parent: nil, position: Position(bytes: [0, 255]))),
            .delete(object(3)),
            .unknown(kind: 9, body: []), .unknown(kind: 8, body: [1]),
            .undo(
                Undo(
                    target: NamedChange(
                        replica: ReplicaID(bytes: Bytes16(high: 1, low: 2)),
                        sequence: 3,
                        hash: Hash256(bytes: Bytes32(1, 2, 3, 4))
                    ),
                    isRedo: true
                )
            ),
            .unknown(kind: 254, body: [1, 2, 3]), .unknown(kind: 77, body: Array(0...255)),
        ]
        return edits
    }

    /// Hashes what came back from the log anew: any bit that is not as it was shows.
    private func check(_ written: [VerifiedRun], in store: SQLiteStoreHandle, limits: RunLimits = RunLimits()) throws {
        let hashes = written.flatMap(\.hashes)
        var previous = Author.origin
        var count = 0
        for run in try store.runs(of: written[0].run.replica, limits: limits) {
            let again = ChainHash.hashes(of: run, previous: previous, TestDevice.cryptography)
            #expect(again == Array(hashes[count..<count + again.count]))
            #expect(run.signature != nil)
            // What is sent on must be readable as it is.
            #expect(try Run(decoding: run.encoded()) == run)
            previous = again.last ?? previous
            count += again.count
        }
        #expect(count == hashes.count)
    }

    @Test func `every kind and value comes back to the bit`() throws {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStoreHandle(directory)
        var author = Author(number: 1)
        var runs = [author.run([Self.edits])]
        runs.append(author.run(Self.edits.map { [$0] }))
        runs.append(author.run([[], Self.edits, []]))
        let places = Set(Self.edits.indices)
        runs.append(author.run(Self.edits, redacting: places.filter { $0 % 3 == 0 }))
        runs.append(author.run(Self.edits, redacting: places))
        let writes = Self.edits.filter { [.set, .unset].contains($0.kind) }
        runs.append(author.run(writes, redacting: Set(writes.indices)))
        for run in runs { #expect(try store.receive([run]) == [.stored]) }
        try self.check(runs, in: store)
        store.close()
        try self.check(runs, in: try SQLiteStoreHandle(try self.copy(of: directory)))
    }

    /// The directory of a closed store may be copied.
    private func copy(of directory: TemporaryDirectory) throws -> TemporaryDirectory {
        let copy = try TemporaryDirectory()
        try copy.fill(from: directory)
        return copy
    }

    @Test func `edits are read one by one as they were written`() throws {
        let store = try SQLiteStoreHandle(try TemporaryDirectory())
        var author = Author(number: 1)
        try store.receive([author.run([[]]), author.run([Self.edits])])
        let replica = author.replica
        let stamp = author.stamp
        try store.read { transaction throws(StoreError) in
            guard let segment = transaction.firstSegment(of: replica) else {
                throw .damaged("the segment is missing")
            }
            for (position, edit) in Self.edits.enumerated() {
                let write = WriteReference(stamp: stamp, segment: segment, sequence: 2, index: UInt32(position))
                #expect(try transaction.edit(write) == edit)
            }
            let count = UInt32(Self.edits.count)
            for (sequence, position) in [(2, count), (3, 0)] as [(UInt64, UInt32)] {
                let none = WriteReference(stamp: stamp, segment: segment, sequence: sequence, index: position)
                #expect(try transaction.edit(none) == nil)
            }
        }
    }

    @Test func `contexts keep what they name`() throws {
        let store = try SQLiteStoreHandle(try TemporaryDirectory())
        var other = Author(number: 2)
        try store.receive([other.run([[.delete(object(1))], []])])
        var author = Author(number: 1)
        let stranger = ReplicaID(bytes: Bytes16(high: 5, low: 5))
        // Nothing of it is stored, neither when it is named nor when it is read; and something only when it is read.
        let missing = Point(replica: stranger, sequence: 9, name: ChangeName(rawValue: .max))
        var late = Author(number: 3)
        let lateRun = late.run([[]])
        let context = [other.point, missing, late.point].sorted()
        let runs = [
            author.run([[.set(object(1), name: "a", value: .int(1))]], context: context),
            author.run([[.set(object(1), name: "a", value: .int(2))]]),
            author.run([[.delete(object(1)), .delete(object(2))]]),
            author.run([[.delete(object(3))]]),
        ]
        for run in runs { try store.receive([run]) }
        try store.receive([lateRun])
        try self.check(runs, in: store)
    }

    @Test(arguments: [1, 3, 7, 64])
    func `runs are cut where limits and signatures say`(changeCountMax: Int) throws {
        let store = try SQLiteStoreHandle(try TemporaryDirectory())
        var author = Author(number: 1)
        var runs: [VerifiedRun] = []
        for length in [1, 2, 5, 1, 1, 8, 3] {
            runs.append(author.run((0..<length).map { [.set(object(1), name: "n", value: .int(Int64($0)))] }))
            try store.receive([runs[runs.count - 1]])
        }
        try self.check(runs, in: store, limits: RunLimits(changeCountMax: changeCountMax))
        try self.check(runs, in: store, limits: RunLimits(operationCountMax: changeCountMax))
        try self.check(runs, in: store, limits: RunLimits(byteCountMax: changeCountMax))
        let replica = author.replica
        try store.read { transaction throws(StoreError) in
            guard let segment = transaction.firstSegment(of: replica) else {
                throw .damaged("the segment is missing")
            }
            let limits = RunLimits(changeCountMax: changeCountMax)
            let unsigned = try transaction.loadRun(of: segment, from: 4, limits: limits, signed: false)
            #expect(unsigned?.changes.count == min(changeCountMax, 18))
            #expect(try transaction.loadRun(of: segment, from: 22, limits: limits, signed: true) == nil)
            let header = try transaction.header(at: SegmentPoint(segment: segment, sequence: 1))
            #expect(header == ChangeHeader(stamp: runs[0].run.changes[0].stamp, hash: runs[0].hashes[0]))
            #expect(try transaction.header(at: SegmentPoint(segment: segment, sequence: 21)) != nil)
            #expect(try transaction.header(at: SegmentPoint(segment: segment, sequence: 22)) == nil)
        }
    }

    @Test func `a long run comes back in one piece`() throws {
        let store = try SQLiteStoreHandle(try TemporaryDirectory())
        var author = Author(number: 1)
        let changes = (0..<500).map { change in
            (0..<40).map { number -> Edit in
                .set(object(UInt64(change * 4 + number / 10)), name: "name \(number % 10)", value: .int(Int64(number)))
            }
        }
        let run = author.run(changes)
        try store.receive([run])
        try self.check([run], in: store)
        #expect(try store.runs(of: author.replica).count == 1)
    }
}
