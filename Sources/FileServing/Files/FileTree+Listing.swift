internal import Glibc

extension FileTree {
    /// A file or folder in a folder.
    package struct Entry: Equatable, Sendable {
        package let name: String
        package let isFolder: Bool
        /// 0 for a folder.
        package let size: UInt64
        package let modifiedMilliseconds: Int64
    }

    package struct Page: Equatable, Sendable {
        /// Sorted by the bytes of the names.
        package var entries: [Entry]
        /// The name to go on after; nil at the end.
        package var next: String?
    }

    /// The entries of a folder that come after a name.
    ///
    /// All names are read for each page, but only those of the page are kept: memory does not grow with the folder.
    /// Names that no ``FilePath`` can hold are left out, and so is all that is neither a file nor a folder.
    package func list(_ path: FilePath, after last: String? = nil, limit: Int) throws(FileTreeError) -> Page {
        let limit = min(max(1, limit), Self.pageEntryCountMax)
        let folder = try self.folder(path)
        let last = last.map { Array($0.utf8) }
        var found: [[UInt8]] = []
        var names = try FolderNames(folder)
        while let candidate = try names.next() {
            if let last, !last.lexicographicallyPrecedes(candidate.name) { continue }
            guard try Self.canBeListed(candidate, in: folder) else { continue }
            found.append(candidate.name)
            if found.count >= 4 * Self.pageEntryCountMax { Self.keepFirst(limit + 1, of: &found) }
        }
        Self.keepFirst(limit + 1, of: &found)
        let page = found.prefix(limit).map { String(decoding: $0, as: UTF8.self) }
        var entries: [Entry] = []
        for name in page {
            // What is gone meanwhile, or is no longer what it was, is left out.
            guard let status = try folder.status(of: name), status.isRegular || status.isFolder else { continue }
            entries.append(Entry(name, status))
        }
        return Page(entries: entries, next: found.count > limit ? page.last : nil)
    }

    private static func keepFirst(_ count: Int, of names: inout [[UInt8]]) {
        names.sort { $0.lexicographicallyPrecedes($1) }
        names.removeLast(max(0, names.count - count))
    }

    private static func canBeListed(
        _ candidate: FolderNames.Entry,
        in folder: OwnedDescriptor
    ) throws(FileTreeError) -> Bool {
        guard FilePath.canName(candidate.name) else { return false }
        switch candidate.type {
        case Int32(DT_REG), Int32(DT_DIR): return true
        case Int32(DT_UNKNOWN):
            let status = try folder.status(of: String(decoding: candidate.name, as: UTF8.self))
            return status.map { $0.isRegular || $0.isFolder } ?? false
        default: return false
        }
    }
}

extension FileTree.Entry {
    fileprivate init(_ name: String, _ status: stat) {
        let version = FileVersion(status)
        self.init(
            name: name,
            isFolder: status.isFolder,
            size: status.isFolder ? 0 : version.size,
            modifiedMilliseconds: version.modifiedMilliseconds
        )
    }
}
