/// The restamps that a store holds, by the ends of their stretches.
///
/// Anyone may restamp what is not there, or what is not his, as often as he likes: whoever looks for those that may
/// matter to some changes passes by all others.
package struct RestampTable: Sendable {
    private var endings: [ReplicaID: [UInt64: [RestampRecord]]] = [:]
    private var all: Set<RestampRecord> = []
    /// Those that are not settled, with their places in the order in which all were added.
    private var open: [RestampRecord: Int] = [:]

    package init() {}

    /// Whether a replica's chain has any; there are hardly ever any.
    package func hasAny(of id: ReplicaID) -> Bool { !self.endings.isEmpty && self.endings[id] != nil }

    package var count: Int { self.all.count }

    package func contains(_ record: RestampRecord) -> Bool { self.all.contains(record) }

    package func isUnsettled(_ record: RestampRecord) -> Bool { !self.open.isEmpty && self.open[record] != nil }

    /// Those that are not settled, in the order in which they were added: what they restamp is not there, or they are
    /// deferred.
    package var unsettled: [RestampRecord] { self.open.sorted { $0.value < $1.value }.map(\.key) }

    /// How many were added before one that is not settled.
    package func place(of record: RestampRecord) -> Int? { self.open[record] }

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
    package mutating func add(_ record: RestampRecord, isSettled: Bool = false) {
        if !isSettled { self.open[record] = self.all.count }
        self.endings[record.restamp.replica, default: [:]][record.restamp.lastSequence, default: []].append(record)
        self.all.insert(record)
    }

    package mutating func settle(_ record: RestampRecord) { self.open[record] = nil }

    /// Makes a record what it was before it was settled.
    package mutating func unsettle(_ record: RestampRecord, at place: Int) { self.open[record] = place }

    /// Takes out the record that was added last of all that are in it.
    package mutating func removeLast(_ record: RestampRecord) {
        let (id, sequence) = (record.restamp.replica, record.restamp.lastSequence)
        self.all.remove(record)
        self.open[record] = nil
        self.endings[id]?[sequence]?.removeLast()
        if self.endings[id]?[sequence]?.isEmpty ?? false { self.endings[id]?[sequence] = nil }
        if self.endings[id]?.isEmpty ?? false { self.endings[id] = nil }
    }
}
