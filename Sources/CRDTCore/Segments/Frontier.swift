/// The last change of one fork of a chain, by its full hash, so that a fork can never look like agreement.
package struct FrontierEntry: Hashable, Sendable, Comparable {
    package var replica: ReplicaID
    package var sequence: UInt64
    package var hash: Hash256

    package init(replica: ReplicaID, sequence: UInt64, hash: Hash256) {
        self.replica = replica
        self.sequence = sequence
        self.hash = hash
    }

    package static func < (left: FrontierEntry, right: FrontierEntry) -> Bool {
        (left.replica, left.sequence, left.hash) < (right.replica, right.sequence, right.hash)
    }

    /// Appends the canonical bytes.
    package func encode(to bytes: inout [UInt8]) {
        self.replica.bytes.append(to: &bytes)
        bytes.appendVarint(self.sequence)
        self.hash.bytes.append(to: &bytes)
    }

    package init(decoding reader: inout ByteReader) throws(WireError) {
        self.replica = ReplicaID(bytes: try reader.bytes16())
        self.sequence = try reader.varint()
        guard self.sequence <= Limits.sequenceMax else { throw .overLimit }
        self.hash = Hash256(bytes: try reader.bytes32())
    }

    /// The least number of bytes an entry takes.
    package static let byteCountMin = 16 + 1 + 32
}

/// What a store durably holds: the last change of every fork of every chain.
package struct Frontier: Hashable, Sendable {
    /// Ascending.
    package private(set) var entries: [FrontierEntry]

    package init(_ entries: [FrontierEntry] = []) {
        self.entries = entries.sorted()
    }

    /// What a store holds now, of some circles if they are named.
    ///
    /// - Complexity: O(*n* log *n*) in the number of segments; for all circles, once after each change.
    package init(
        of transaction: inout some StoreTransaction,
        within scope: CircleScope? = nil
    ) throws(StoreError) {
        if let scope, !scope.contains(allOf: transaction.circles) {
            let whole = try Frontier(of: &transaction)
            var entries: [FrontierEntry] = []
            for entry in whole.entries {
                guard let segment = transaction.firstSegment(of: entry.replica) else { continue }
                if scope.contains(transaction.progress(of: segment).circle) { entries.append(entry) }
            }
            self.init(entries)
            return
        }
        if let known = transaction.knownFrontier {
            self = known
            return
        }
        var entries: [FrontierEntry] = []
        for segment in transaction.segmentIndices {
            let record = transaction.segment(segment)
            guard record.storedSequence >= record.firstSequence else { continue }
            let (sequence, hash) = (record.storedSequence, record.storedHash)
            entries.append(FrontierEntry(replica: record.id, sequence: sequence, hash: hash))
        }
        self.init(entries)
        transaction.knownFrontier = self
    }

    /// What of a store's log is applied now: what waits, for a change or for its time, does not come into the state.
    ///
    /// - Complexity: O(*n* log *n*) in the number of segments.
    package init(appliedIn transaction: inout some StoreTransaction) throws(StoreError) {
        var entries: [FrontierEntry] = []
        for segment in transaction.segmentIndices {
            let record = transaction.segment(segment)
            guard record.appliedSequence >= record.firstSequence else { continue }
            var hash = record.storedHash
            if record.appliedSequence < record.storedSequence {
                let point = SegmentPoint(segment: segment, sequence: record.appliedSequence)
                guard let applied = try transaction.hash(at: point) else {
                    throw .damaged("a change is missing from the log")
                }
                hash = applied
            }
            entries.append(FrontierEntry(replica: record.id, sequence: record.appliedSequence, hash: hash))
        }
        self.init(entries)
    }

    /// The entries whose replica ids lie from `lower` up to but not including `upper` (nil: no bound).
    package func entries(from lower: ReplicaID, to upper: ReplicaID?) -> ArraySlice<FrontierEntry> {
        // A message may ask for thousands of ranges.
        let start = self.entries.firstPosition { $0.replica >= lower }
        let end = upper.map { upper in self.entries.firstPosition { $0.replica >= upper } } ?? self.entries.endIndex
        return self.entries[start..<max(start, end)]
    }

    /// A hash over entries: equal for equal entries, and only for them.
    package static func fingerprint(
        _ entries: some Collection<FrontierEntry>,
        _ cryptography: some ChangeCryptography
    ) -> Hash256 {
        var bytes: [UInt8] = []
        for entry in entries {
            entry.encode(to: &bytes)
        }
        return Hash256(bytes: cryptography.hash256(.frontier, bytes))
    }
}
