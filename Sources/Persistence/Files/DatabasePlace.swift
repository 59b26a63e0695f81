internal import CRDTCore
internal import Glibc

/// The names of a database that is open, with the files that they led to when it was opened.
///
/// SQLite opens, and at the end deletes, by name what belongs to a database. Where the directory was moved or deleted
/// meanwhile, such a name leads to nothing, or to the files of somebody else, and so do those of the keys and of the
/// settings. So nothing is done with a database any more that is not in its place.
struct DatabasePlace: Sendable {
    private let directory: String
    private let files: [(name: String, state: FileState)]

    /// Looks at the database of a directory and at its write-ahead log, as long as it is open.
    init(directory: String, database: String) {
        self.directory = directory
        self.files = [database, database + "-wal"].compactMap { name in
            FileState(of: name).map { (name, $0) }
        }
    }

    /// Whether the names lead to the same files still.
    ///
    /// That a name cannot be looked up just now is no reason to think otherwise.
    var isKept: Bool {
        self.files.allSatisfy { file in
            guard let now = FileState(of: file.name) else { return errno != ENOENT && errno != ENOTDIR }
            return now.isSameFile(as: file.state)
        }
    }

    /// Throws ``StoreError/moved(_:)`` if the database is not in its place any more.
    func require() throws(StoreError) {
        guard self.isKept else { throw .moved(self.directory) }
    }
}
