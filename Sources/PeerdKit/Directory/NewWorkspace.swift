package import Engine
internal import Foundation
internal import Persistence

/// Makes the files of a workspace.
package enum NewWorkspace {
    /// Makes the first machine of a workspace, where nothing of one is; nothing is left of it after an error.
    ///
    /// `announce`: tells somebody what exists once; if it throws, there is no workspace.
    package static func found(
        _ identity: borrowing DeviceIdentity,
        at paths: DirectoryPaths,
        _ announce: () throws -> Void
    ) async throws {
        let isNew = access(paths.directory, F_OK) != 0
        do {
            try await self.create(identity, at: paths)
            try announce()
        } catch {
            let databases = SQLiteStore.databaseSuffixes.map { paths.database + $0 }
            for path in [paths.keys, paths.token, paths.lock] + databases { unlink(path) }
            if isNew { rmdir(paths.directory) }
            throw error
        }
    }

    /// The same for a machine that was let in: what there is of it stays, since others count on it.
    ///
    /// Keys first: they make the directory a workspace, and an empty database can be made at any time.
    package static func create(_ identity: borrowing DeviceIdentity, at paths: DirectoryPaths) async throws {
        try PrivateFile.makeDirectory(paths.directory)
        try KeyFile.create(identity, at: paths)
        await (try WorkspaceRuntime.openStoreAlone(paths, mayWrite: true, report: { _ in })).stop()
    }
}
