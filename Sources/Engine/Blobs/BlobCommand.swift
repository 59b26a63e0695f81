package import CRDTCore
package import SyncProtocol

/// What an exchange wants of the blob store, which takes one command after the other.
package enum BlobCommand: Hashable, Sendable {
    /// Find what is here of a group of a blob that is wanted.
    case look(BlobRoot, BlobShape, group: Int)
    case takeProof(BlobRoot, BlobShape, group: Int, GroupProof, from: ConnectionID)
    case takeLeaf(BlobRoot, BlobShape, leaf: Int, [UInt8], from: ConnectionID)
    /// Put blobs in their places of which every leaf is here.
    case complete([BlobRoot])
    case readProof(BlobRoot, BlobShape, group: Int, for: ConnectionID)
    case readLeaf(BlobRoot, BlobShape, leaf: Int, for: ConnectionID)
    /// Note what is here of a blob that nobody fetches any more just now.
    case pause(BlobRoot)
}

/// What came of a command.
package enum BlobResult: Hashable, Sendable {
    /// The leaves of the group that are here, the first one as the lowest bit.
    case looked(BlobRoot, group: Int, leaves: UInt64, hasProof: Bool)
    case tookProof(BlobRoot, group: Int, from: ConnectionID)
    case tookLeaf(BlobRoot, leaf: Int, from: ConnectionID)
    case completed([BlobRoot])
    case proof(BlobRoot, group: Int, GroupProof, for: ConnectionID)
    case leaf(BlobRoot, leaf: Int, [UInt8], for: ConnectionID)
    case paused(BlobRoot)
    case failed(BlobCommand, BlobFailure)
}

extension BlobStore {
    /// Does what a command says; waits for the disk.
    package mutating func perform(_ command: BlobCommand) -> BlobResult {
        do throws(BlobFailure) {
            switch command {
            case .look(let root, let shape, let group):
                let arrival = try self.look(atGroup: group, of: root, shape)
                var here: UInt64 = 0
                for (bit, leaf) in shape.leaves(group: group).enumerated() where arrival.leaves.contains(leaf) {
                    here |= 1 << UInt64(bit)
                }
                return .looked(root, group: group, leaves: here, hasProof: arrival.groups.contains(group))
            case .takeProof(let root, let shape, let group, let proof, let source):
                try self.take(proof, group: group, of: root, shape)
                return .tookProof(root, group: group, from: source)
            case .takeLeaf(let root, let shape, let leaf, let content, let source):
                try self.take(content, leaf: leaf, of: root, shape)
                return .tookLeaf(root, leaf: leaf, from: source)
            case .complete(let roots):
                try self.complete(roots)
                return .completed(roots)
            case .readProof(let root, let shape, let group, let receiver):
                return .proof(root, group: group, try self.proof(group: group, of: root, shape), for: receiver)
            case .readLeaf(let root, let shape, let leaf, let receiver):
                return .leaf(root, leaf: leaf, try self.leaf(leaf, of: root, shape), for: receiver)
            case .pause(let root):
                try self.pause(root)
                return .paused(root)
            }
        } catch {
            return .failed(command, error)
        }
    }
}
