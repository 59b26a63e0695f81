package import CRDTCore
internal import MergeModel

/// What all merge trials of one process share: replicas that have only introduced themselves.
package struct MergeWorld: Sendable {
    /// One for each peer, which has written nothing yet.
    let beginners: [MergeReplica]
    /// One for each peer: its store holds the first change of its own chain, and the charter.
    package let replicas: [MergeReplica]
    /// The beginning of each chain: that first change.
    package let chains: [[VerifiedRun]]
    /// The secrets of changes, one after the other.
    private let secrets: [UInt8]

    private static let secretCount = 64

    package init(peerCount: Int) throws(StoreError) {
        var (beginners, replicas, chains): ([MergeReplica], [MergeReplica], [[VerifiedRun]]) = ([], [], [])
        for peer in 0..<peerCount {
            var replica = try MergeReplica(peer, of: peerCount)
            beginners.append(replica)
            chains.append([try replica.introduce()])
            replicas.append(replica)
        }
        (self.beginners, self.replicas) = (beginners, replicas)
        self.chains = chains
        var random = SplitMix64(seed: 1)
        self.secrets = random.bytes(MergeWorld.secretCount * Bytes16.byteCount)
    }

    /// The secret of the change with a number.
    func secret(_ number: Int) -> ArraySlice<UInt8> {
        let start = number % MergeWorld.secretCount * Bytes16.byteCount
        return self.secrets[start..<start + Bytes16.byteCount]
    }
}
