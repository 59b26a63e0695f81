/// The restamps that a store holds, by the ends of their stretches.
///
/// Anyone may restamp what is not there, or what is not his, as often as he likes: whoever looks for those that may
/// matter to some changes passes by all others.
package struct RestampTable: Sendable {
    private var endings: [ReplicaID: [UInt64: [RestampRecord]]] = [:]
    private var all: Set<RestampRecord> = []

    package init() {}

    /// Whether a replica's chain has any; there are hardly ever any.
    package func hasAny(of id: ReplicaID) -> Bool { !self.endings.isEmpty && self.endings[id] != nil }

    package func contains(_ record: RestampRecord) -> Bool { self.all.contains(record) }

    /// Those of a replica whose stretches end at some of its sequences.
    ///
    /// - Complexity: O(*n* + *k*) for *k* found, and *n* sequences or ends, whichever are fewer.
    package func records(of id: ReplicaID, endingIn sequences: ClosedRange<UInt64>) -> [RestampRecord] {
        guard !self.endings.isEmpty, let endings = self.endings[id] else { return [] }
        guard sequences.upperBound - sequences.lowerBound < UInt64(endings.count) else {
            return endings.keys.filter { sequences.contains($0) }.sorted().flatMap { endings[$0] ?? [] }
        }
        return sequences.flatMap { endings[$0] ?? [] }
    }

    /// Adds a record that it does not contain.
    package mutating func add(_ record: RestampRecord) {
        self.endings[record.restamp.replica, default: [:]][record.restamp.lastSequence, default: []].append(record)
        self.all.insert(record)
    }

    /// Takes out the record that was added last of all that are in it.
    package mutating func removeLast(_ record: RestampRecord) {
        let (id, sequence) = (record.restamp.replica, record.restamp.lastSequence)
        self.all.remove(record)
        self.endings[id]?[sequence]?.removeLast()
        if self.endings[id]?[sequence]?.isEmpty ?? false { self.endings[id]?[sequence] = nil }
        if self.endings[id]?.isEmpty ?? false { self.endings[id] = nil }
    }
}
