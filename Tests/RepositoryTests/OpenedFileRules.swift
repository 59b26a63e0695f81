/// Which files of source code open files, and what these are.
///
/// No descriptor of ours on a database, or on the index of its log, may ever be closed while a connection of this
/// process has the database (`DatabaseBytes` says why). A program cannot see in general what a path leads to. So every
/// place that opens files is listed here with what it opens, and a new one is a decision.
enum OpenedFileRules {
    static let places: [String: String] = [
        "Sources/Persistence/Files/RegularFile.swift": "what the others name here, by one rule",
        "Sources/Persistence/Files/OpenFile.swift": "folders",
        "Sources/Persistence/Blobs/FolderBlobDisk.swift": "the folder “media”, and what it holds",
        "Sources/Persistence/Store/DataDirectory.swift": "the lock file, and the directory",
        "Sources/Persistence/Database/LogFrames.swift": "the log of a database",
        "Sources/Persistence/Store/DamagedFiles.swift": "new copies, and the log of a database that is closed",
        "Sources/Persistence/Store/SQLiteStore+Scratch.swift": "the lock file of a scratch directory",
        "Sources/PeerdKit/Directory/PrivateFile.swift": "new files, folders, and what others name here",
        "Sources/PeerdKit/Directory/NamelessFile.swift": "new files without a name",
        "Sources/PeerdKit/Directory/KeyFile.swift": "keys",
        "Sources/PeerdKit/Directory/TokenFile.swift": "tokens",
        "Sources/PeerdKit/Directory/Settings.swift": "config",
        "Sources/PeerdKit/Driver/WorkspaceRuntime.swift": "the lock file",
        "Sources/PeerdKit/Backup/Workspace+Backup.swift": "config",
        "Sources/PeerdKit/Backup/BackupWriter.swift": "backups, and copies before SQLite, outside the data directory",
        "Sources/PeerdKit/Backup/BackupReader.swift": "backups, and the new database of a restore",
        "Sources/PeerdPreview/SourceDirectory.swift": "the lock file",
        "Sources/PeerdPreview/ScratchDirectory.swift": "directories of previews",
        "Sources/PeerdPreview/FileCopy.swift": "keys, logs, and private copies of databases that are closed",
        "Sources/PeerdKit/Exchange/Workspace+Exchange.swift": "a new export",
        "Sources/LocalAPI/Client/Endpoint.swift": "the address of the local API",
        "Sources/LocalAPI/Client/LocalSocketAddress.swift": "the folder of a socket",
        "Sources/FileServing/Files/FileTree.swift": "the folder “files”, and what it holds",
        "Sources/FileServing/Files/OwnedDescriptor.swift": "folders in the folder “files”",
        "Sources/FileServing/Files/FileUpload.swift": "new files in the folder “files”",
        "Sources/FileServing/Files/FolderNames.swift": "folders in the folder “files”",
        "Sources/peerd/Output/StandardStreams.swift": "/dev/null",
        "Sources/peerd/Driver/CurrentBranch.swift": "the file “branch”",
        "Sources/peerd/Execution/Workplace+Import.swift": "the file of an import, before the workspace",
    ]
    private static let modules: Set<String> = [
        "CRDTCore", "PeerCrypto", "SyncProtocol", "Engine", "Persistence", "PeerTransport", "PeerdKit", "LocalAPI",
        "FileServing", "PeerdPreview", "peerd",
    ]

    static func violations(in file: SourceFile) -> [String] {
        guard let module = file.module, self.modules.contains(module), self.places[file.path] == nil else { return [] }
        let opening = Regex<AnyRegexOutput>(
            /\bO_(?:RDONLY|RDWR|WRONLY|CREAT)\b|\b(?:fopen|freopen|creat|copyfile|copyItem|mmap)\(/
        )
        let reading = Regex<AnyRegexOutput>(
            /\bFileHandle\(for|\bcontents\(atPath|\b(?:Data|String)\(contentsOf|\bInputStream\(|\bOutputStream\(/
        )
        let regular = Regex<AnyRegexOutput>(/\bRegularFile(?:\(|\.open\(|\.content\()/)
        return [opening, reading, regular].flatMap { pattern in
            file.matches(of: pattern) { "\($0) opens a file; say in OpenedFileRules which, if never a database in use" }
        }
    }
}
