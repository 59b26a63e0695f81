package import CRDTCore
package import SyncProtocol

/// The contents of blobs on a disk.
///
/// Nothing is believed because it lies there: a leaf is written after a proof, and read against the hash that the proof
/// had brought. A content gets its place once all of it is on the disk, and only then a row may say that the blob is
/// held. So after a crash each file is either whole, or under way and looked at again.
package struct BlobStore<Disk: BlobDisk> {
    package var disk: Disk
    /// What is under way and was looked at since the start.
    var arrivals: [BlobRoot: BlobArrival] = [:]

    package init(disk: Disk) { self.disk = disk }

    /// Reads a leaf of a blob that is here, or of one under way.
    ///
    /// - Throws: `.absent` if the leaf is not here, `.damaged` if it is not what the root says.
    /// - Complexity: one hash of the leaf.
    package func leaf(_ leaf: Int, of root: BlobRoot, _ shape: BlobShape) throws(BlobFailure) -> [UInt8] {
        let arrival = self.arrivals[root]
        if let arrival, !arrival.leaves.contains(leaf) { throw .absent }
        let content = try self.stored(leaf, in: arrival == nil ? .content(root) : .incoming(root), shape)
        guard try self.hash(leaf: leaf, of: root, shape, content: content) == BlobHash.leaf(content) else {
            throw .damaged
        }
        return content
    }

    /// What proves the leaves of a group; of a blob under way, only of a group of which the proof has come.
    package func proof(group: Int, of root: BlobRoot, _ shape: BlobShape) throws(BlobFailure) -> GroupProof {
        let leaves = shape.leaves(group: group)
        // The hash of one leaf is found faster than a file for it.
        guard shape.leafCount > 1 else {
            return GroupProof(leaves: [BlobHash.leaf(try self.stored(0, in: .content(root), shape))], siblings: [])
        }
        let layout = BlobTreeLayout(shape)
        var proof = GroupProof(leaves: [], siblings: [])
        proof.leaves = try self.hashes(leaves.count, of: root, at: layout.offset(level: 0, node: leaves.lowerBound))
        for place in shape.siblings(group: group) {
            proof.siblings += try self.hashes(1, of: root, at: layout.offset(level: place.level, node: place.node))
        }
        guard proof.isValid(group: group, of: shape, root: root) else { throw .damaged }
        return proof
    }

    /// Reads a blob that is here from its beginning to its end, and says whether it is what its root says.
    ///
    /// - Complexity: one read and one hash of all of it.
    package func isIntact(_ root: BlobRoot, _ shape: BlobShape) throws(BlobFailure) -> Bool {
        guard
            try self.disked({ disk throws(BlobDiskFailure) in try disk.byteCount(of: .content(root)) })
                == shape.byteCount
        else { return false }
        var hasher = BlobHasher()
        for leaf in 0..<shape.leafCount { hasher.update(try self.stored(leaf, in: .content(root), shape)) }
        let (found, leaves, _) = hasher.finalize()
        guard found == root else { return false }
        guard shape.leafCount > 1 else { return true }
        for group in 0..<shape.groupCount {
            do throws(BlobFailure) {
                guard try self.proof(group: group, of: root, shape).leaves == Array(leaves[shape.leaves(group: group)])
                else { return false }
            } catch {
                guard error == .damaged || error == .absent else { throw error }
                return false
            }
        }
        return true
    }

    /// Whether the content of a blob is here, by its length.
    package func holds(_ root: BlobRoot, _ shape: BlobShape) throws(BlobFailure) -> Bool {
        try self.disked { disk throws(BlobDiskFailure) in try disk.byteCount(of: .content(root)) } == shape.byteCount
    }

    // MARK: - Files

    func stored(_ leaf: Int, in file: BlobFile, _ shape: BlobShape) throws(BlobFailure) -> [UInt8] {
        let count = shape.byteCount(leaf: leaf)
        let offset = UInt64(leaf) * UInt64(BlobShape.leafByteCount)
        let content = try self.disked { disk throws(BlobDiskFailure) in
            try disk.read(file, at: offset, count: count)
        }
        guard content.count == count else { throw .damaged }
        return content
    }

    private func hash(
        leaf: Int,
        of root: BlobRoot,
        _ shape: BlobShape,
        content: [UInt8]
    ) throws(BlobFailure) -> Hash256 {
        // The root of a blob of one leaf says all.
        guard shape.leafCount > 1 else {
            let hash = BlobHash.leaf(content)
            guard BlobHash.root(top: hash, byteCount: shape.byteCount) == root else { throw .damaged }
            return hash
        }
        return try self.hashes(1, of: root, at: BlobTreeLayout(shape).offset(level: 0, node: leaf))[0]
    }

    func hashes(_ count: Int, of root: BlobRoot, at offset: UInt64) throws(BlobFailure) -> [Hash256] {
        let bytes = try self.disked { disk throws(BlobDiskFailure) in
            try disk.read(.tree(root), at: offset, count: count * Bytes32.byteCount)
        }
        let hashes = stride(from: 0, to: bytes.count, by: Bytes32.byteCount).compactMap { start in
            Bytes32(bytes[start..<min(start + Bytes32.byteCount, bytes.count)]).map { Hash256(bytes: $0) }
        }
        guard hashes.count == count else { throw .damaged }
        return hashes
    }

    func disked<Result>(
        _ call: (borrowing Disk) throws(BlobDiskFailure) -> Result
    ) throws(BlobFailure) -> Result {
        do throws(BlobDiskFailure) { return try call(self.disk) } catch { throw BlobFailure(error) }
    }

    mutating func changed<Result>(
        _ call: (inout Disk) throws(BlobDiskFailure) -> Result
    ) throws(BlobFailure) -> Result {
        do throws(BlobDiskFailure) { return try call(&self.disk) } catch { throw BlobFailure(error) }
    }
}

/// Why a blob, or a part of it, was not read or written.
package enum BlobFailure: Error, Hashable, Sendable {
    /// It is not here.
    case absent
    /// What is here is not what its root says.
    case damaged
    /// No room is left.
    case diskFull
    /// What came is not what the root says; nothing of it was kept.
    case wrong
    /// What is copied in changes all the time.
    case restless
    /// It is longer than a blob may be.
    case tooLong
    /// The disk cannot read or write, in words.
    case disk(String)

    init(_ failure: BlobDiskFailure) {
        switch failure {
        case .absent: self = .absent
        case .full: self = .diskFull
        case .failed(let words): self = .disk(words)
        }
    }
}
