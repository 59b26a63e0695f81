package import CRDTCore
internal import MergeModel

/// What all merge trials of one process share: replicas that have only introduced themselves.
package struct MergeWorld: Sendable {
    /// One for each peer: its store holds the first change of its own chain, and nothing else.
    package let replicas: [MergeReplica]
    /// The beginning of each chain: that first change.
    package let chains: [[VerifiedRun]]
    /// The secrets of changes, one after the other.
    private let secrets: [UInt8]

    private static let secretCount = 64

    package init(peerCount: Int) throws(StoreError) {
        var replicas = (0..<peerCount).map { MergeReplica($0, of: peerCount) }
        var chains: [[VerifiedRun]] = []
        for peer in 0..<peerCount {
            chains.append([try replicas[peer].introduce()])
        }
        self.replicas = replicas
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
