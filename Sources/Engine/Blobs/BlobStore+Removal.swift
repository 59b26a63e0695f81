package import CRDTCore

/// What goes: by eviction at once, by collection after a rest in the trash, by erasure with every trace.
extension BlobStore {
    /// Removes the content of a blob that others hold.
    package mutating func evict(_ root: BlobRoot) throws(BlobFailure) {
        try self.changed { disk throws(BlobDiskFailure) in
            try disk.remove(.content(root))
            try disk.remove(.tree(root))
            try disk.syncFolder(BlobFile.content(root).folder)
        }
    }

    /// Puts a blob that nothing refers to any more into the trash; its tree stays in its place until the rest is over.
    package mutating func discard(_ root: BlobRoot) throws(BlobFailure) {
        try self.abandonArrival(root)
        try self.move(.content(root), to: .trash(root))
    }

    /// Takes a blob out of the trash.
    ///
    /// - Throws: `.absent` if it is not there.
    package mutating func bringBack(_ root: BlobRoot) throws(BlobFailure) {
        try self.move(.trash(root), to: .content(root))
    }

    /// Removes every trace of a blob: content, tree, what has come of it, and what is in the trash.
    ///
    /// Once this returns no crash brings any of it back.
    package mutating func erase(_ root: BlobRoot) throws(BlobFailure) {
        self.arrivals[root] = nil
        try self.changed { disk throws(BlobDiskFailure) in
            for file in [BlobFile.content(root), .trash(root), .leaves(root), .incoming(root), .tree(root)] {
                try disk.remove(file)
            }
            for folder in [BlobFile.content(root).folder, .trash, .incoming] { try disk.syncFolder(folder) }
        }
    }

    /// The files of all folders, in an order that does not depend on the disk.
    package func files() throws(BlobFailure) -> [BlobFile] {
        var files: [BlobFile] = []
        for folder in BlobFile.Folder.all {
            files += try self.disked { disk throws(BlobDiskFailure) in try disk.files(in: folder) }
        }
        return files
    }

    private mutating func abandonArrival(_ root: BlobRoot) throws(BlobFailure) {
        guard self.arrivals.removeValue(forKey: root) != nil else { return }
        try self.changed { disk throws(BlobDiskFailure) in
            try disk.remove(.leaves(root))
            try disk.remove(.incoming(root))
        }
    }

    private mutating func move(_ file: BlobFile, to new: BlobFile) throws(BlobFailure) {
        try self.changed { disk throws(BlobDiskFailure) in
            try disk.rename(file, to: new)
            // The new name first: a crash between leaves both or the new one.
            try disk.syncFolder(new.folder)
            try disk.syncFolder(file.folder)
        }
    }
}
