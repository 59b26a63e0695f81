import CRDTCore

/// All replicas, in memory, and which of them the transaction has changed.
struct ReplicaTable {
    private(set) var records: [ReplicaRecord] = []
    private var indexes: [ReplicaID: ReplicaIndex] = [:]
    /// The records that the database holds, by the numbers of those that differ here.
    private var originals: [Int: ReplicaRecord] = [:]
    private var storedCount = 0

    subscript(index: ReplicaIndex) -> ReplicaRecord { self.records[Int(index.rawValue)] }

    /// The id of a replica, without copying its record.
    func id(_ index: ReplicaIndex) -> ReplicaID { self.records[Int(index.rawValue)].id }

    /// How far a replica's chain has come, without copying its record.
    func progress(of index: ReplicaIndex) -> ReplicaProgress { self.records[Int(index.rawValue)].progress }

    func index(of id: ReplicaID) -> ReplicaIndex? { self.indexes[id] }

    /// Adds a record as the database holds it.
    mutating func restore(_ record: ReplicaRecord) {
        _ = self.append(record)
        self.storedCount = self.records.count
    }

    mutating func append(_ record: ReplicaRecord) -> ReplicaIndex {
        let index = ReplicaIndex(rawValue: UInt32(self.records.count))
        self.records.append(record)
        self.indexes[record.id] = index
        return index
    }

    mutating func set(_ record: ReplicaRecord, at index: ReplicaIndex) {
        let position = Int(index.rawValue)
        if position < self.storedCount, self.originals[position] == nil {
            self.originals[position] = self.records[position]
        }
        self.records[position] = record
    }

    /// What the database does not hold yet: each record with its number and what the database holds instead.
    func changes() -> [(index: Int64, record: ReplicaRecord, original: ReplicaRecord?)] {
        let changed = self.originals.keys.sorted().map { position in
            (index: Int64(position), record: self.records[position], original: self.originals[position])
        }
        let added = (self.storedCount..<self.records.count).map { position in
            (index: Int64(position), record: self.records[position], original: ReplicaRecord?.none)
        }
        return changed + added
    }

    mutating func commit() {
        self.originals.removeAll(keepingCapacity: true)
        self.storedCount = self.records.count
    }

    /// Goes back to what the database holds.
    mutating func rollback() {
        for (position, record) in self.originals { self.records[position] = record }
        for record in self.records[self.storedCount...] { self.indexes[record.id] = nil }
        self.records.removeSubrange(self.storedCount...)
        self.originals.removeAll(keepingCapacity: true)
    }
}
