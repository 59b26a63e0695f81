package import CRDTCore
package import SyncProtocol

/// A blob of which not everything is here.
package struct BlobArrival: Hashable, Sendable {
    package let shape: BlobShape
    package internal(set) var leaves: LeafSet
    /// The groups of which the proof is here.
    package internal(set) var groups: LeafSet
    /// The groups that were looked at since the start: what a crash has left is not believed before.
    package internal(set) var looked: LeafSet

    init(_ shape: BlobShape) {
        self.shape = shape
        self.leaves = LeafSet(leafCount: shape.leafCount)
        self.groups = LeafSet(leafCount: shape.groupCount)
        self.looked = LeafSet(leafCount: shape.groupCount)
    }
}

/// What comes of blobs from others, leaf by leaf, in any order.
extension BlobStore {
    /// Goes on with a blob, or begins with it.
    ///
    /// What a pause has noted counts. Otherwise what may be there of a group is looked at when something is wanted of
    /// that group (`look`).
    ///
    /// - Complexity: O(*n*) in the leaves, without a read of any.
    package mutating func resume(_ root: BlobRoot, _ shape: BlobShape) throws(BlobFailure) -> BlobArrival {
        if let arrival = self.arrivals[root] { return arrival }
        var arrival = BlobArrival(shape)
        let byteCount = try self.disked { disk throws(BlobDiskFailure) in try disk.byteCount(of: .incoming(root)) }
        let noted = byteCount == nil ? nil : try self.noted(root, shape)
        for group in 0..<shape.groupCount {
            let leaves = shape.leaves(group: group)
            let begin = UInt64(leaves.lowerBound) * UInt64(BlobShape.leafByteCount)
            if let noted {
                let here = leaves.filter { noted.contains($0) }
                for leaf in here { arrival.leaves.insert(leaf) }
                if !here.isEmpty { arrival.groups.insert(group) }
            } else if shape.leafCount > 1, begin < byteCount ?? 0 {
                continue
            }
            arrival.looked.insert(group)
        }
        // From now on the note is not true any more.
        if noted != nil {
            try self.changed { disk throws(BlobDiskFailure) in
                try disk.remove(.leaves(root))
                try disk.syncFolder(.incoming)
            }
        }
        self.arrivals[root] = arrival
        return arrival
    }

    /// Finds what a crash has left of a group, if nobody has looked yet.
    ///
    /// - Complexity: a read and a hash of each leaf of the group.
    package mutating func look(
        atGroup group: Int,
        of root: BlobRoot,
        _ shape: BlobShape
    ) throws(BlobFailure) -> BlobArrival {
        var arrival = try self.resume(root, shape)
        guard !arrival.looked.contains(group) else { return arrival }
        if let proof = try self.foundProof(group: group, of: root, shape) {
            arrival.groups.insert(group)
            for (leaf, hash) in zip(shape.leaves(group: group), proof.leaves)
            where try self.isThere(leaf, of: root, shape, hash) {
                arrival.leaves.insert(leaf)
            }
        }
        arrival.looked.insert(group)
        self.arrivals[root] = arrival
        return arrival
    }

    /// Takes the proof of a group in.
    ///
    /// - Throws: `.wrong` if it proves nothing, with nothing written.
    package mutating func take(
        _ proof: GroupProof,
        group: Int,
        of root: BlobRoot,
        _ shape: BlobShape
    ) throws(BlobFailure) {
        guard (0..<shape.groupCount).contains(group) else { throw .wrong }
        var arrival = try self.look(atGroup: group, of: root, shape)
        guard proof.isValid(group: group, of: shape, root: root) else { throw .wrong }
        guard !arrival.groups.contains(group), shape.leafCount > 1 else { return }
        let layout = BlobTreeLayout(shape)
        let first = layout.offset(level: 0, node: shape.leaves(group: group).lowerBound)
        try self.changed { disk throws(BlobDiskFailure) in
            try disk.write(proof.leaves.encoded, to: .tree(root), at: first)
            for (place, hash) in zip(shape.siblings(group: group), proof.siblings) {
                let offset = layout.offset(level: place.level, node: place.node)
                try disk.write([hash].encoded, to: .tree(root), at: offset)
            }
        }
        arrival.groups.insert(group)
        self.arrivals[root] = arrival
    }

    /// Takes a leaf in, whose group is proved.
    ///
    /// - Throws: `.wrong` if it is not the one that the root says, `.absent` if its proof is not here; with nothing
    ///   written.
    package mutating func take(
        _ content: [UInt8],
        leaf: Int,
        of root: BlobRoot,
        _ shape: BlobShape
    ) throws(BlobFailure) {
        guard leaf >= 0, leaf < shape.leafCount, content.count == shape.byteCount(leaf: leaf) else { throw .wrong }
        var arrival = try self.look(atGroup: leaf >> BlobShape.groupLevel, of: root, shape)
        guard !arrival.leaves.contains(leaf) else { return }
        let hash = BlobHash.leaf(content)
        if shape.leafCount > 1 {
            guard arrival.groups.contains(leaf >> BlobShape.groupLevel) else { throw .absent }
            let offset = BlobTreeLayout(shape).offset(level: 0, node: leaf)
            guard try self.hashes(1, of: root, at: offset) == [hash] else { throw .wrong }
        } else {
            guard BlobHash.root(top: hash, byteCount: shape.byteCount) == root else { throw .wrong }
        }
        let offset = UInt64(leaf) * UInt64(BlobShape.leafByteCount)
        try self.changed { disk throws(BlobDiskFailure) in try disk.write(content, to: .incoming(root), at: offset) }
        arrival.leaves.insert(leaf)
        self.arrivals[root] = arrival
    }

    /// Notes what is here of a blob under way, so that the next start need not look.
    package mutating func pause(_ root: BlobRoot) throws(BlobFailure) {
        guard let arrival = self.arrivals[root], arrival.leaves.count > 0 else { return }
        try self.changed { disk throws(BlobDiskFailure) in
            try disk.sync(.incoming(root))
            if arrival.shape.leafCount > 1 {
                try disk.sync(.tree(root))
                try disk.syncFolder(BlobFile.tree(root).folder)
            }
            let note = ArrivalNote(shape: arrival.shape, leaves: arrival.leaves)
            try disk.write(note.encoded(of: root), to: .leaves(root), at: 0)
            try disk.sync(.leaves(root))
            try disk.syncFolder(.incoming)
        }
        self.arrivals[root] = nil
    }

    /// Puts blobs in their places of which every leaf has come; once this returns, they are there after any crash.
    ///
    /// All of them are written before any is waited for, so that many small ones share what the disk does for them.
    ///
    /// - Precondition: every leaf of each has come.
    package mutating func complete(_ roots: [BlobRoot]) throws(BlobFailure) {
        let arrivals = roots.compactMap { root in self.arrivals[root].map { (root, $0) } }
        precondition(arrivals.allSatisfy { $0.1.leaves.isComplete }, "all leaves have come")
        try self.changed { disk throws(BlobDiskFailure) in
            for (root, arrival) in arrivals {
                // A blob of no bytes is a file all the same.
                if arrival.shape.byteCount == 0 { try disk.write([], to: .incoming(root), at: 0) }
                try disk.sync(.incoming(root))
                if arrival.shape.leafCount > 1 { try disk.sync(.tree(root)) }
            }
            // The tree's name is safe before the content has its own.
            let folders = Set(arrivals.map { BlobFile.content($0.0).folder })
            if arrivals.contains(where: { $0.1.shape.leafCount > 1 }) {
                for folder in folders { try disk.syncFolder(folder) }
            }
            for (root, _) in arrivals { try disk.rename(.incoming(root), to: .content(root)) }
            for folder in folders { try disk.syncFolder(folder) }
        }
        for root in roots { self.arrivals[root] = nil }
    }

    /// Gives up what has come of a blob.
    package mutating func abandon(_ root: BlobRoot) throws(BlobFailure) {
        self.arrivals[root] = nil
        try self.changed { disk throws(BlobDiskFailure) in
            try disk.remove(.leaves(root))
            try disk.remove(.incoming(root))
            if try disk.byteCount(of: .content(root)) == nil { try disk.remove(.tree(root)) }
        }
    }

    private func foundProof(group: Int, of root: BlobRoot, _ shape: BlobShape) throws(BlobFailure) -> GroupProof? {
        do throws(BlobFailure) {
            return try self.proof(group: group, of: root, shape)
        } catch {
            guard error == .damaged || error == .absent else { throw error }
            return nil
        }
    }

    private func isThere(
        _ leaf: Int,
        of root: BlobRoot,
        _ shape: BlobShape,
        _ hash: Hash256
    ) throws(BlobFailure) -> Bool {
        do throws(BlobFailure) {
            return BlobHash.leaf(try self.stored(leaf, in: .incoming(root), shape)) == hash
        } catch {
            guard error == .damaged || error == .absent else { throw error }
            return false
        }
    }

    /// What a pause has noted; nil if there was none, or the note is damaged.
    private func noted(_ root: BlobRoot, _ shape: BlobShape) throws(BlobFailure) -> LeafSet? {
        do throws(BlobFailure) {
            let bytes = try self.disked { disk throws(BlobDiskFailure) in
                try disk.read(.leaves(root), at: 0, count: ArrivalNote.byteCount(of: shape) + 1)
            }
            return ArrivalNote(decoding: bytes, root, shape)?.leaves
        } catch {
            guard error == .absent else { throw error }
            return nil
        }
    }
}

/// What a pause writes: which leaves are here, and a digest over it.
private struct ArrivalNote {
    var shape: BlobShape
    var leaves: LeafSet

    init(shape: BlobShape, leaves: LeafSet) { (self.shape, self.leaves) = (shape, leaves) }

    static func byteCount(of shape: BlobShape) -> Int { (shape.leafCount + 7) / 8 + Bytes32.byteCount }

    func encoded(of root: BlobRoot) -> [UInt8] {
        var bytes: [UInt8] = []
        self.leaves.encode(to: &bytes)
        Self.digest(bytes[...], root).bytes.append(to: &bytes)
        return bytes
    }

    init?(decoding bytes: [UInt8], _ root: BlobRoot, _ shape: BlobShape) {
        guard bytes.count == Self.byteCount(of: shape) else { return nil }
        let content = bytes.dropLast(Bytes32.byteCount)
        guard Self.digest(content, root).bytes == Bytes32(bytes.suffix(Bytes32.byteCount)),
            let leaves = LeafSet(leafCount: shape.leafCount, encoded: content)
        else { return nil }
        self.init(shape: shape, leaves: leaves)
    }

    private static func digest(_ bytes: ArraySlice<UInt8>, _ root: BlobRoot) -> Hash256 {
        var message: [UInt8] = []
        root.bytes.append(to: &message)
        message += bytes
        return BlobHash.leaf(message)
    }
}

extension [Hash256] {
    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(self.count * Bytes32.byteCount)
        for hash in self { hash.bytes.append(to: &bytes) }
        return bytes
    }
}
