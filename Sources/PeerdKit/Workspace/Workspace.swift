package import CRDTCore
internal import Engine
public import Foundation
internal import NIOConcurrencyHelpers
internal import PeerCrypto
package import Persistence

/// A replicated tree of objects with properties, open in this process.
///
/// Each machine of a workspace has all of its objects, in a directory of its own. Reading and writing work without a
/// network. ``startSync(listenPort:addresses:discovers:)`` exchanges changes with the other machines.
///
/// All functions can be called from any task, at the same time. When ``write(_:)`` returns, its transaction is on the
/// disk.
public final class Workspace: Sendable {
    /// The ways to open a workspace.
    public enum Access: Hashable, Sendable {
        /// Reads, writes and syncs; one process at a time can have a directory in this way.
        case readWrite
        /// Reads only, beside another process that writes.
        case readOnly
    }

    /// The directory that holds its database and keys.
    public let directory: URL
    package let paths: DirectoryPaths
    let readers: ReadPool
    /// Those who read everything in one go take half of the connections at most.
    let streamTurns = Turns(ReadPool.readerCountMax / 2)
    /// The store and the node; nil if the workspace was opened for reading only.
    let runtime: WorkspaceRuntime?
    let identity: Identity
    let participant = Participant()
    let backups: BackupBook
    private let phase = NIOLockedValueBox(Phase.open)

    private enum Phase {
        case open
        case closed
    }

    /// The ids of the workspace and of this device, without secrets.
    struct Identity: Sendable {
        /// The first bytes of the workspace's id.
        let workspace: UInt64
        let device: DeviceID
        let user: UserID
        let founder: UserID
        let origin: Hash256
        let membership: Membership
        /// The device with its user, as its certificates say; nil if it has none.
        let author: ChainAuthor?

        init(_ paths: DirectoryPaths) throws { self.init(try KeyFile.load(paths)) }

        init(_ keys: borrowing DeviceIdentity) {
            self.workspace = keys.workspace.bytes.array.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
            (self.device, self.user) = (keys.device, keys.user)
            self.membership = keys.membership
            self.founder = keys.membership.founder
            self.origin = keys.origin
            self.author = ChainAuthor(keys.introduction(nonce: Bytes16(high: 0, low: 0)))
        }

        /// The namespace of ids that are derived from keys.
        var objectNamespace: ObjectID {
            ObjectID(bytes: Bytes16(self.membership.workspace.bytes.array.prefix(16)) ?? Bytes16(high: 0, low: 0))
        }
    }

    private init(_ paths: DirectoryPaths, _ identity: Identity, runtime: WorkspaceRuntime?) throws {
        self.identity = identity
        self.directory = URL(fileURLWithPath: paths.directory, isDirectory: true)
        self.paths = paths
        self.backups = try BackupBook(paths)
        self.runtime = runtime
        self.readers = runtime?.readers ?? ReadPool(directory: paths.directory)
    }

    /// Shows a workspace that the caller has opened, and closes.
    package convenience init(_ runtime: WorkspaceRuntime, at paths: DirectoryPaths) throws {
        try self.init(paths, try Identity(paths), runtime: runtime)
    }

    /// Creates a workspace in a directory, and opens it.
    ///
    /// - Parameters:
    ///   - directory: the place for its files, created if missing. Only its owner can read what is in it.
    ///   - name: the name of this machine, as other members see it, in 1 to 512 bytes.
    ///   - words: new words, which are shown to the user and kept nowhere. Without any, nobody will ever recover: then
    ///     this machine stands above all others for good.
    /// - Returns: the workspace, open for reading and writing.
    /// - Throws: ``PeerdError`` with `workspaceExists`, `keysMissing`, `invalidArgument`, `notPrivate`, or what a disk
    ///   can refuse.
    public static func create(
        at directory: URL,
        name: String,
        recovery words: RecoveryWords? = nil
    ) async throws -> Workspace {
        let paths = DirectoryPaths(directory)
        try paths.requireNoWorkspace()
        try self.check(name)
        _ = try await self.create(paths, name: name, recovery: words ?? RecoveryWords()) { _, _ in }
        return try await self.open(at: directory)
    }

    /// Makes the files of a workspace, and returns its id.
    ///
    /// `announce`: takes the ids of the workspace and of this machine; if it throws, nothing is left of them.
    package static func create(
        _ paths: DirectoryPaths,
        name: String,
        recovery words: RecoveryWords,
        _ announce: (WorkspaceID, DeviceID) throws -> Void
    ) async throws -> WorkspaceID {
        guard var entropy = EntropyStream(seed: SystemEntropy.seed()),
            let identity = DeviceIdentity.founding(name: name, root: words.rootKey(), entropy: &entropy)
        else { throw PeerdError.noRandomness }
        let (workspace, device) = (identity.workspace, identity.device)
        try await NewWorkspace.found(identity, at: paths) { try announce(workspace, device) }
        return workspace
    }

    /// Opens the workspace in a directory.
    ///
    /// - Parameters:
    ///   - directory: the directory that was given to ``create(at:name:recovery:)`` or ``join(_:at:name:recovery:)``.
    ///   - access: ``Access/readOnly`` to read beside another process that writes.
    /// - Returns: the workspace.
    /// - Throws: ``PeerdError`` with `noWorkspace`, `notPrivate`, `damaged`, `newerVersion`, or what a disk can refuse.
    ///   With `alreadyOpen` the directory is open for writing elsewhere, and was not released within three seconds.
    public static func open(at directory: URL, access: Access = .readWrite) async throws -> Workspace {
        let paths = DirectoryPaths(directory)
        try paths.requireWorkspace()
        let identity = try Identity(paths)
        switch access {
        case .readWrite:
            let runtime = try await WorkspaceRuntime.openStoreAlone(paths, mayWrite: true, report: { _ in })
            return try Workspace(paths, identity, runtime: runtime)
        case .readOnly:
            try self.requireWholeLog(paths)
            let workspace = try Workspace(paths, identity, runtime: nil)
            // What is wrong with the database shows now, and not with the first question.
            _ = try await workspace.reading { transaction in transaction.segmentCount }
            return workspace
        }
    }

    /// Stops what would have SQLite forget what lies behind a damage in its log.
    private static func requireWholeLog(_ paths: DirectoryPaths) throws {
        do throws(StoreError) {
            try SQLiteStore.requireWholeLog(directory: paths.directory)
        } catch {
            throw PeerdError(error)
        }
    }

    /// Joins the workspace of an invite, and opens it.
    ///
    /// The objects arrive with the first sync. If this call fails after the other machine has accepted this one, the
    /// directory holds the workspace, and ``open(at:access:)`` continues.
    ///
    /// - Parameters:
    ///   - invite: the result of ``invite()`` on another machine, which must be syncing. It is valid once, for ten
    ///     minutes.
    ///   - directory: the place for the files, created if missing.
    ///   - name: the name of this machine, as other members see it, in 1 to 512 bytes.
    ///   - words: with an invite for a person, new words for a new user, or those of one who comes back after he has
    ///     lost all machines (``inviteBack()``), and calls ``recover(at:with:)`` after the first sync. They matter for
    ///     no other invite.
    /// - Returns: the workspace, open for reading and writing.
    /// - Throws: ``PeerdError`` with `unreachable`, `inviteSpent`, `joinRefused`, or as ``create(at:name:recovery:)``
    ///   does.
    public static func join(
        _ invite: Invitation,
        at directory: URL,
        name: String,
        recovery words: RecoveryWords? = nil
    ) async throws -> Workspace {
        let paths = DirectoryPaths(directory)
        try paths.requireNoWorkspace()
        try self.check(name)
        let pairing = Pairing(invite: invite.content, deviceName: name, words: words ?? RecoveryWords())
        let address = try await pairing.join(paths)
        let workspace = try await self.open(at: directory)
        await workspace.runtime?.driver.add(address)
        return workspace
    }

    /// Ends the sync, waits for closures that still read, and releases the directory.
    ///
    /// Every transaction that returned is on the disk already, so a process may also end without this call. Later calls
    /// on this workspace throw ``PeerdError`` with `closed`; sequences of changes end. Calling it again does nothing.
    public func close() async {
        let wasOpen = self.phase.withLockedValue { phase in
            defer { phase = .closed }
            return phase == .open
        }
        guard wasOpen else { return }
        if let runtime = self.runtime { await runtime.stop() } else { await self.readers.close() }
    }

    // MARK: - For the rest of the module

    /// Returns the driver of the node; throws if the workspace was opened for reading, or is closed.
    package func driver() throws -> NodeDriver {
        try self.requireOpen()
        guard let runtime = self.runtime else {
            throw PeerdError(
                .readOnly,
                "\(self.paths.directory) was opened read-only.",
                advice: "Open it for writing once no other process has it."
            )
        }
        return runtime.driver
    }

    /// Reads one committed state.
    package func reading<Result: Sendable>(
        _ body: @Sendable (inout SQLiteStore.Transaction) throws -> Result
    ) async throws -> Result {
        try self.requireOpen()
        do {
            return try await self.readers.read(body)
        } catch let error as StoreError {
            throw PeerdError(error)
        }
    }

    /// Reads one committed state, in microseconds, on the thread of the caller's task.
    func readingBriefly<Content>(_ body: (inout SQLiteStore.Transaction) throws -> Content) async throws -> Content {
        try self.requireOpen()
        do {
            return try await self.readers.readBriefly(body)
        } catch let error as StoreError {
            throw PeerdError(error)
        }
    }

    var isOpen: Bool { self.phase.withLockedValue { $0 } == .open }

    func requireOpen() throws {
        guard self.isOpen else {
            throw PeerdError(.closed, "\(self.paths.directory) has been closed.", advice: "Open it again.")
        }
        try self.requirePlace()
    }

    /// Throws if the directory was moved or deleted since it was opened for writing.
    ///
    /// What has its path by now may be another workspace, with its own keys and settings.
    package func requirePlace() throws(PeerdError) {
        do throws(StoreError) {
            try self.readers.requirePlace()
        } catch {
            throw PeerdError(error)
        }
    }

    private static func check(_ name: String) throws {
        guard !name.isEmpty, name.utf8.count <= Limits.nameByteCountMax else {
            throw PeerdError(
                .invalidArgument,
                "The name of a machine must have 1 to \(Limits.nameByteCountMax) bytes.",
                advice: "Choose another."
            )
        }
    }
}

extension DirectoryPaths {
    package init(_ url: URL) {
        self.init(directory: url.standardizedFileURL.path)
    }
}
