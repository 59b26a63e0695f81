/// For each replica, the sequence up to which its changes are known.
///
/// The empty vector is the beginning of history.
package struct VersionVector: Hashable, Sendable {
    /// Sequences above zero, by replica.
    package private(set) var sequences: [ReplicaID: UInt64]

    package init(_ sequences: [ReplicaID: UInt64] = [:]) {
        self.sequences = sequences.filter { $0.value > 0 }
    }

    /// The sequence known of a replica; 0 for one never heard of.
    package subscript(replica: ReplicaID) -> UInt64 {
        get { self.sequences[replica] ?? 0 }
        set { self.sequences[replica] = newValue == 0 ? nil : newValue }
    }

    /// Whether the change that a dot names is in this history.
    package func contains(_ dot: Dot) -> Bool {
        dot.sequence <= self[dot.replica]
    }

    /// The union of two histories, in place.
    ///
    /// - Complexity: O(*n*), *n* being the number of replicas in `other`.
    package mutating func formUnion(_ other: VersionVector) {
        self.sequences.merge(other.sequences) { max($0, $1) }
    }

    /// Whether all of `other` is in this history.
    package func isSuperset(of other: VersionVector) -> Bool {
        other.sequences.allSatisfy { self[$0.key] >= $0.value }
    }

    /// The entries in the order of their replica ids.
    package var sorted: [Dot] {
        self.sequences.map { Dot(replica: $0.key, sequence: $0.value) }.sorted()
    }
}
