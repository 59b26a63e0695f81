package import Engine

/// Makes the files of a workspace.
package enum NewWorkspace {
    /// Keys first: they make the directory a workspace, and an empty database can be made at any time.
    package static func create(_ identity: borrowing DeviceIdentity, at paths: DirectoryPaths) async throws {
        try PrivateFile.makeDirectory(paths.directory)
        try KeyFile.create(identity, at: paths)
        await (try WorkspaceRuntime.openStoreAlone(paths, mayWrite: true, report: { _ in })).stop()
    }
}
