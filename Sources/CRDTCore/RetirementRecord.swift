/// A retirement that was stored, kept apart from the log so that rebuilding knows all of them from the start.
struct RetirementRecord: Hashable, Sendable {
    var author: ReplicaIndex
    var sequence: UInt64
    var target: ReplicaIndex
    /// The last sequence of the target that still counts.
    var last: UInt64

    private static let fact = "retirements"

    /// All that were ever stored here.
    static func all(in transaction: inout some StoreTransaction) throws(StoreError) -> [RetirementRecord] {
        guard let bytes = try transaction.fact(self.fact) else { return [] }
        var reader = ByteReader(bytes)
        var records: [RetirementRecord] = []
        do throws(WireError) {
            while reader.remaining > 0 {
                records.append(
                    RetirementRecord(
                        author: ReplicaIndex(rawValue: UInt32(try reader.count(atMost: Int(UInt32.max)))),
                        sequence: try reader.varint(),
                        target: ReplicaIndex(rawValue: UInt32(try reader.count(atMost: Int(UInt32.max)))),
                        last: try reader.varint()
                    )
                )
            }
        } catch {
            throw .damaged("the list of retirements cannot be read")
        }
        return records
    }

    /// Adds one unless it is there already.
    static func add(_ record: RetirementRecord, in transaction: inout some StoreTransaction) throws(StoreError) {
        var records = try self.all(in: &transaction)
        guard !records.contains(record) else { return }
        records.append(record)
        var bytes: [UInt8] = []
        for record in records {
            bytes.appendVarint(UInt64(record.author.rawValue))
            bytes.appendVarint(record.sequence)
            bytes.appendVarint(UInt64(record.target.rawValue))
            bytes.appendVarint(record.last)
        }
        try transaction.setFact(self.fact, bytes)
    }
}
