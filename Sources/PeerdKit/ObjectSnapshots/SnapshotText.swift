internal import CRDTCore
internal import PeerCrypto
internal import Persistence

/// The canonical text of a snapshot, put together one object after the other.
///
/// Nothing of an object is kept but its text: a snapshot may have very many.
struct SnapshotText: Sendable {
    let object: ObjectID
    let name: String?
    /// Milliseconds since 1970.
    let time: UInt64
    private(set) var objectCount = 0
    /// Whole when ``finish()`` was called.
    private(set) var bytes: [UInt8]

    static let form = "peerd-snapshot-1"

    init(of object: ObjectID, name: String?, time: UInt64) {
        let members: [ExactText: JSON] = [
            "created_at": .int(Int64(clamping: time)), "format": .string(Self.form),
            "name": name.map { .string($0) } ?? .null,
            "object": .string(object.description),
        ]
        (self.object, self.name, self.time) = (object, name, time)
        // "objects" comes last in canonical order.
        self.bytes = Array(JSON.object(members).canonicalText.utf8.dropLast())
        self.bytes += #","objects":["#.utf8
    }

    /// Adds an object as an export has it; they come in the order of their ids.
    ///
    /// - Throws: ``PeerdError`` with `tooLarge`.
    mutating func add(_ json: JSON) throws {
        self.bytes += (self.objectCount == 0 ? "\n" : ",\n").utf8
        json.append(to: &self.bytes)
        self.objectCount += 1
        guard self.bytes.count <= ObjectSnapshot.byteCountMax else { throw Self.tooLarge }
    }

    /// Ends it.
    mutating func finish() throws {
        self.bytes += "\n]}\n".utf8
        guard self.bytes.count <= ObjectSnapshot.byteCountMax else { throw Self.tooLarge }
    }

    var record: SnapshotRecord {
        let digest = Blake2b.hash256(HashPersonal("peerd-snapshot"), self.bytes)
        return SnapshotRecord(
            id: ObjectID(bytes: Bytes16(high: digest.0.byteSwapped, low: digest.1.byteSwapped)),
            object: self.object,
            name: self.name,
            objectCount: self.objectCount,
            byteCount: self.bytes.count,
            time: self.time
        )
    }

    static let tooLarge = PeerdError(
        .tooLarge,
        "The snapshot would have more than \(ObjectSnapshot.byteCountMax >> 20) MiB.",
        advice: "Take snapshots of parts of it, or export it."
    )

    /// Takes a snapshot; nil if there is no such object.
    static func take(
        of object: ObjectID,
        name: String?,
        time: UInt64,
        in state: inout some StateReading
    ) throws -> SnapshotText? {
        guard let top = try state.visibleObject(object) else { return nil }
        var identified: [(id: ObjectID, index: ObjectIndex)] = []
        for index in try StateExport.subtree(top, in: &state) {
            identified.append((try state.object(index).id, index))
        }
        identified.sort { $0.id < $1.id }
        var text = SnapshotText(of: object, name: name, time: time)
        for (_, index) in identified { try text.add(try StateExport.json(of: index, in: &state)) }
        try text.finish()
        return text
    }
}
