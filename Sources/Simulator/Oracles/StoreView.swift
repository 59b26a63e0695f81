internal import CRDTCore

/// What a store holds of each replica, as an oracle saw it.
struct StoreView: Hashable {
    private var replicas: [ReplicaID: Chain] = [:]

    struct Chain: Hashable {
        var storedSequence: UInt64
        var storedHash: Hash256
        var appliedSequence: UInt64
        var isExcluded: Bool
    }

    init() {}

    init(of transaction: borrowing some StoreTransaction) {
        for position in 0..<transaction.replicaCount {
            let record = transaction.replica(ReplicaIndex(rawValue: UInt32(position)))
            self.replicas[record.id] = Chain(
                storedSequence: record.storedSequence,
                storedHash: record.storedHash,
                appliedSequence: record.appliedSequence,
                isExcluded: record.exclusion != nil
            )
        }
    }

    subscript(replica: ReplicaID) -> Chain? { self.replicas[replica] }

    /// How many changes the log holds.
    var storedCount: UInt64 { self.replicas.values.reduce(0) { $0 &+ $1.storedSequence } }

    /// Whether a change was the last of its chain in the log, and in no danger of not counting.
    func endsWith(_ dot: Dot, _ hash: Hash256) -> Bool {
        guard let chain = self.replicas[dot.replica] else { return false }
        return chain.storedSequence == dot.sequence && chain.storedHash == hash && !chain.isExcluded
    }

    /// What of `earlier` is not there any more; nil if everything is.
    func regression(from earlier: StoreView) -> String? {
        for replica in earlier.replicas.keys.sorted() {
            guard let before = earlier.replicas[replica], before.storedSequence > 0 else { continue }
            guard let now = self.replicas[replica] else {
                return "\(replica) is unknown, was at \(before.storedSequence)"
            }
            if now.storedSequence < before.storedSequence {
                return "\(replica) went back from \(before.storedSequence) to \(now.storedSequence)"
            }
            if now.storedSequence == before.storedSequence, now.storedHash != before.storedHash {
                return "\(replica) has another change at \(now.storedSequence)"
            }
        }
        return nil
    }
}
