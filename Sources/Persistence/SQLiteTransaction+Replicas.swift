package import CRDTCore

extension SQLiteTransaction {
    package var replicaCount: Int { self.replicas.records.count }

    package func replica(_ index: ReplicaIndex) -> ReplicaRecord { self.replicas[index] }

    package func replicaID(_ index: ReplicaIndex) -> ReplicaID { self.replicas.id(index) }

    package func progress(of index: ReplicaIndex) -> ReplicaProgress { self.replicas.progress(of: index) }

    package func existingReplicaIndex(of id: ReplicaID) -> ReplicaIndex? { self.replicas.index(of: id) }

    package func setReplica(_ record: consuming ReplicaRecord, at index: ReplicaIndex) throws(StoreError) {
        self.replicas.set(record, at: index)
    }

    /// Reads all replicas.
    func loadReplicas() throws(StoreError) {
        let statement = try self.statements[.allReplicas]
        defer { statement.reset() }
        while try statement.step() {
            guard statement.int64(0) == Int64(self.replicas.records.count) else {
                throw .damaged("the replicas in the database are not numbered without gaps")
            }
            self.replicas.restore(try SQLiteTransaction.replicaRecord(statement))
        }
        guard self.replicas.records.allSatisfy({ $0.context.count <= self.replicaCount }) else {
            throw .damaged("a replica in the database has seen more replicas than there are")
        }
    }

    private static func replicaRecord(_ statement: Statement) throws(StoreError) -> ReplicaRecord {
        guard let hash = Bytes32(statement.bytes(3)) else {
            throw .damaged("a hash in the database has the wrong length")
        }
        var record = ReplicaRecord(id: ReplicaID(bytes: try statement.bytes16(1)), origin: Hash256(bytes: hash))
        record.storedSequence = statement.bits(2)
        record.storedStamp = Stamp(rawValue: statement.bits(4))
        record.appliedSequence = statement.bits(5)
        record.appliedStamp = Stamp(rawValue: statement.bits(6))
        record.forkSequence = statement.isNull(8) ? nil : statement.bits(8)
        record.retiredAfter = statement.isNull(9) ? nil : statement.bits(9)
        record.backdatedAfter = statement.isNull(10) ? nil : statement.bits(10)
        do throws(WireError) {
            record.context = try StoredBytes.numbers(statement.bytes(7))
            if !statement.isNull(11) { record.introduction = try Introduction(decoding: statement.bytes(11)[...]) }
        } catch {
            throw .damaged("a replica in the database cannot be read")
        }
        let sequences = [record.storedSequence, record.forkSequence ?? 1, record.backdatedAfter ?? 0]
        guard record.appliedSequence <= record.storedSequence, record.forkSequence != 0,
            (sequences + record.context).allSatisfy({ $0 <= Limits.sequenceMax })
        else { throw .damaged("a replica in the database counts changes that cannot be") }
        return record
    }

    /// Writes the replicas that have changed.
    func writeReplicas() throws(StoreError) {
        for change in self.replicas.changes() {
            #if PLANTED_BUGS
            if PlantedBug.frontierNotStored.isPlanted, change.original != nil { continue }
            #endif
            let record = change.record
            let statement = try self.statements[change.original == nil ? .insertReplica : .updateReplica]
            statement.bind(1, change.index)
            statement.bind(2, bits: record.storedSequence)
            statement.bind(3, record.storedHash.bytes.array)
            statement.bind(4, bits: record.storedStamp.rawValue)
            statement.bind(5, bits: record.appliedSequence)
            statement.bind(6, bits: record.appliedStamp.rawValue)
            statement.bind(7, StoredBytes.encode(record.context))
            statement.bind(8, record.forkSequence.map { Int64(bitPattern: $0) })
            statement.bind(9, record.retiredAfter.map { Int64(bitPattern: $0) })
            statement.bind(10, record.backdatedAfter.map { Int64(bitPattern: $0) })
            if change.original == nil { statement.bind(11, record.id.bytes) }
            try statement.run()
            if record.introduction != change.original?.introduction, let introduction = record.introduction {
                try self.write(introduction, at: change.index)
            }
        }
    }

    private func write(_ introduction: Introduction, at index: Int64) throws(StoreError) {
        var bytes: [UInt8] = []
        introduction.encode(to: &bytes)
        let statement = try self.statements[.updateReplicaIntroduction]
        statement.bind(1, index)
        statement.bind(2, introduction.user.bytes.array)
        if let device = introduction.device {
            statement.bind(3, device.bytes.array)
        } else {
            statement.bindNull(3)
        }
        statement.bind(4, introduction.deviceName)
        statement.bind(5, bytes)
        try statement.run()
    }
}
