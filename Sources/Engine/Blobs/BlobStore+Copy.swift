package import CRDTCore
package import SyncProtocol

/// What is copied in from this machine: a file that was attached, an upload, an import.
extension BlobStore {
    /// A content that is being written, and hashed on its way.
    package struct Copy {
        /// Names its file; no two copies of a start have the same number.
        package let number: UInt64
        var hasher = BlobHasher()
        /// The hashes of all leaves so far, which are 1/2,000 of the content.
        var leaves: [Hash256] = []

        package init(number: UInt64) { self.number = number }

        package var byteCount: UInt64 { self.hasher.byteCount }
    }

    /// Writes the next bytes.
    ///
    /// - Throws: `.tooLong` if a blob cannot be that long. After a failure the copy is to be given up.
    package mutating func append(_ bytes: [UInt8], to copy: inout Copy) throws(BlobFailure) {
        guard UInt64(bytes.count) <= BlobReference.byteCountMax - copy.byteCount else { throw .tooLong }
        let (file, offset) = (BlobFile.copy(copy.number), copy.byteCount)
        try self.changed { disk throws(BlobDiskFailure) in try disk.write(bytes, to: file, at: offset) }
        copy.hasher.update(bytes)
        copy.leaves += copy.hasher.takeLeaves()
    }

    /// Puts a copy in its place; once this returns, it is there after any crash.
    ///
    /// What is here already stays, and the copy is removed.
    package mutating func complete(_ copy: consuming Copy) throws(BlobFailure) -> (root: BlobRoot, shape: BlobShape) {
        let file = BlobFile.copy(copy.number)
        guard let shape = BlobShape(byteCount: copy.byteCount) else { throw .tooLong }
        let (root, last, groups) = copy.hasher.finalize()
        if try self.holds(root, shape) {
            try self.changed { disk throws(BlobDiskFailure) in try disk.remove(file) }
            return (root, shape)
        }
        let leaves = copy.leaves + last
        try self.changed { disk throws(BlobDiskFailure) in
            if shape.byteCount == 0 { try disk.write([], to: file, at: 0) }
            if shape.leafCount > 1 { try Self.write(leaves, groups, of: root, shape, on: &disk) }
            try disk.sync(file)
            try disk.rename(file, to: .content(root))
            try disk.syncFolder(BlobFile.content(root).folder)
        }
        // What had come of it from others is not needed any more.
        if self.arrivals.removeValue(forKey: root) != nil {
            try self.changed { disk throws(BlobDiskFailure) in
                try disk.remove(.leaves(root))
                try disk.remove(.incoming(root))
            }
        }
        return (root, shape)
    }

    /// Gives a copy up.
    package mutating func abandon(_ copy: consuming Copy) throws(BlobFailure) {
        let file = BlobFile.copy(copy.number)
        try self.changed { disk throws(BlobDiskFailure) in try disk.remove(file) }
    }

    /// Writes a tree, and waits until it and its name are on the disk.
    private static func write(
        _ leaves: [Hash256],
        _ groups: [Hash256],
        of root: BlobRoot,
        _ shape: BlobShape,
        on disk: inout Disk
    ) throws(BlobDiskFailure) {
        let layout = BlobTreeLayout(shape)
        try disk.write(leaves.encoded, to: .tree(root), at: 0)
        var (level, nodes) = (BlobShape.groupLevel, groups)
        while nodes.count > 1 {
            try disk.write(nodes.encoded, to: .tree(root), at: layout.offset(level: level, node: 0))
            (level, nodes) = (level + 1, BlobHash.parents(of: nodes))
        }
        try disk.sync(.tree(root))
        try disk.syncFolder(BlobFile.tree(root).folder)
    }
}
