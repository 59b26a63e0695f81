/// One replica's part of a frontier: how far its chain reaches, and the hash there, so that a fork can never look like
/// agreement.
package struct FrontierEntry: Hashable, Sendable {
    package var replica: ReplicaID
    /// The last change; for a forked replica the last one before the fork.
    package var sequence: UInt64
    package var hash: Hash256
    /// Whether two different next changes are proved.
    package var isForked: Bool

    package init(replica: ReplicaID, sequence: UInt64, hash: Hash256, isForked: Bool) {
        self.replica = replica
        self.sequence = sequence
        self.hash = hash
        self.isForked = isForked
    }

    /// Appends the canonical bytes.
    package func encode(to bytes: inout [UInt8]) {
        self.replica.bytes.append(to: &bytes)
        bytes.appendVarint(self.sequence << 1 | (self.isForked ? 1 : 0))
        self.hash.bytes.append(to: &bytes)
    }

    package init(decoding reader: inout ByteReader) throws(WireError) {
        self.replica = ReplicaID(bytes: try reader.bytes16())
        let packed = try reader.varint()
        guard packed >> 1 <= Limits.sequenceMax else { throw .overLimit }
        self.sequence = packed >> 1
        self.isForked = packed & 1 == 1
        self.hash = Hash256(bytes: try reader.bytes32())
    }

    /// The least number of bytes an entry takes.
    package static let byteCountMin = 16 + 1 + 32
}

/// What a store durably holds, replica by replica: sorted entries.
package struct Frontier: Hashable, Sendable {
    /// Ascending by replica id, each replica once.
    package private(set) var entries: [FrontierEntry]

    package init(_ entries: [FrontierEntry] = []) {
        self.entries = entries.sorted { $0.replica < $1.replica }
    }

    /// What a store holds now.
    ///
    /// - Complexity: O(*n* log *n*) in the number of replicas.
    package init(of transaction: inout some StoreTransaction) throws(StoreError) {
        var entries: [FrontierEntry] = []
        for position in 0..<transaction.replicaCount {
            let index = ReplicaIndex(rawValue: UInt32(position))
            if let entry = try Frontier.entry(of: index, in: &transaction) { entries.append(entry) }
        }
        self.init(entries)
    }

    /// One replica's entry; nil if nothing of it is stored.
    package static func entry(
        of index: ReplicaIndex,
        in transaction: inout some StoreTransaction
    ) throws(StoreError) -> FrontierEntry? {
        let record = transaction.replica(index)
        guard record.storedSequence > 0 || record.forkSequence != nil else { return nil }
        guard let fork = record.forkSequence, fork <= record.storedSequence + 1 else {
            return FrontierEntry(
                replica: record.id,
                sequence: record.storedSequence,
                hash: record.storedHash,
                isForked: record.forkSequence != nil
            )
        }
        let hash = fork > 1 ? try transaction.hash(of: index, sequence: fork - 1) : .zero
        return FrontierEntry(replica: record.id, sequence: fork - 1, hash: hash ?? .zero, isForked: true)
    }

    /// The entries whose replica ids lie from `lower` up to but not including `upper` (nil: no bound).
    package func entries(from lower: ReplicaID, to upper: ReplicaID?) -> ArraySlice<FrontierEntry> {
        let start = self.position(of: lower)
        let end = upper.map { self.position(of: $0) } ?? self.entries.endIndex
        return self.entries[start..<max(start, end)]
    }

    /// Where the first entry stands whose id is not below this one: a message may ask for thousands of ranges.
    private func position(of id: ReplicaID) -> Int {
        var (low, high) = (self.entries.startIndex, self.entries.endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if self.entries[middle].replica < id { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// A hash over entries: equal for equal entries, and only for them.
    package static func fingerprint(
        _ entries: some Collection<FrontierEntry>,
        _ cryptography: some ChangeCryptography
    ) -> Hash256 {
        var bytes: [UInt8] = []
        for entry in entries {
            #if PLANTED_BUGS
            var entry = entry
            if PlantedBug.fingerprintWithoutHashes.isPlanted { entry.hash = .zero }
            #endif
            entry.encode(to: &bytes)
        }
        return Hash256(bytes: cryptography.hash256(.frontier, bytes))
    }
}
