internal import CRDTCore
package import Engine
internal import Foundation
internal import PeerCrypto
package import PeerTransport
package import Persistence

/// A workspace that is open in this process: store, keys, transports and the driver that runs them.
///
/// The daemon has one for as long as it runs, a command without a daemon for the length of the command.
package struct WorkspaceRuntime: Sendable {
    package let driver: NodeDriver
    /// For those who only read.
    package let readers: ReadPool
    package let inbox: NodeInbox
    /// For those who wait for changes.
    let bell: CommitBell
    private let loop: Task<Void, Never>

    /// How long to wait for one other process to give the directory or the database free.
    private static let lockPatience = Duration.seconds(3)
    /// The same for all that come before, one after the other, and for a program that holds SQLite's own lock.
    private static let queuePatience = Duration.seconds(60)
    private static let lockInterval = Duration.milliseconds(50)

    /// Opens the workspace of a directory and begins to handle events.
    ///
    /// The transport must post its events to the inbox; `report` is called with what the user should know. How to take
    /// part in the sync is asked for once the directory is locked; nil for a command that connects to nobody.
    package static func open(
        _ paths: DirectoryPaths,
        transport: TCPTransport,
        inbox: NodeInbox,
        mayWrite: Bool = true,
        report: @escaping @Sendable (Notice) -> Void,
        stopsWaiting: () async throws -> Bool = { false },
        participation: () async throws -> Participation?
    ) async throws -> WorkspaceRuntime {
        var answer: Participation??
        let end = ContinuousClock.now + self.queuePatience
        var isTold = false
        while true {
            do {
                return try await self.attempt(paths, transport, inbox, mayWrite, report, until: end, stopsWaiting) {
                    let part: Participation? = if let answer { answer } else { try await participation() }
                    answer = .some(part)
                    return part
                }
            } catch let error as StoreError {
                guard case .locked = error, ContinuousClock.now < end else { throw PeerdError(error) }
                if !isTold { report(.storeFailed(error)) }
                isTold = true
            }
            try await Task.sleep(for: self.lockInterval)
        }
    }

    private static func attempt(
        _ paths: DirectoryPaths,
        _ transport: TCPTransport,
        _ inbox: NodeInbox,
        _ mayWrite: Bool,
        _ report: @escaping @Sendable (Notice) -> Void,
        until end: ContinuousClock.Instant,
        _ stopsWaiting: () async throws -> Bool,
        participation: () async throws -> Participation?
    ) async throws -> WorkspaceRuntime {
        let store = try await self.openStore(paths, until: end, report, stopsWaiting)
        let committed = store.committed
        let participation = try await participation()
        let discovers = participation?.discovers ?? false
        let token = try TokenFile.open(paths, renews: mayWrite)
        let configuration = NodeConfiguration(
            listenPort: participation?.listenPort,
            staticAddresses: participation?.staticAddresses ?? [],
            discovers: discovers,
            acceptedTokens: token.accepted,
            nextToken: token.next
        )
        guard let entropy = EntropyStream(seed: SystemEntropy.seed()) else {
            throw PeerdError.noRandomness
        }
        let node = try Node(
            store: store,
            identity: try KeyFile.load(paths),
            configuration: configuration,
            entropy: entropy,
            at: SystemClock.now()
        )
        try token.settle()
        let beacons = discovers ? BeaconTransport() : nil
        let bell = CommitBell()
        let driver = NodeDriver(
            node: node,
            inbox: inbox,
            bell: bell,
            transport: transport,
            beacons: beacons,
            dialsPeers: participation != nil,
            report: report
        )
        await beacons?.start { payload, host in inbox.post(.beacon(payload, fromHost: host)) }
        if participation?.listenPort != nil { await driver.watchAddresses() }
        let loop = Task(priority: .userInitiated) { await driver.run() }
        return WorkspaceRuntime(
            driver: driver,
            readers: ReadPool(directory: paths.directory, beside: committed),
            inbox: inbox,
            bell: bell,
            loop: loop
        )
    }

    /// The same for a command that only wants the store.
    ///
    /// `stopsWaiting`: whether to wait no more for a process that has the directory, and throw `alreadyOpen`.
    package static func openStoreAlone(
        _ paths: DirectoryPaths,
        mayWrite: Bool,
        stopsWaiting: () async throws -> Bool = { false },
        report: @escaping @Sendable (Notice) -> Void
    ) async throws -> WorkspaceRuntime {
        let inbox = NodeInbox()
        return try await self.open(
            paths,
            transport: TCPTransport(events: { inbox.post(Event($0)) }),
            inbox: inbox,
            mayWrite: mayWrite,
            report: report,
            stopsWaiting: stopsWaiting,
            participation: { nil }
        )
    }

    /// Keeps where this machine listens, so that the next start listens there, too.
    ///
    /// It is a convenience: without it another port is taken, and the user is told why.
    package func keepAddress(_ address: String?, in paths: DirectoryPaths) {
        do {
            try Settings.update(paths) { $0.listen = address }
        } catch {
            self.driver.report(.notKept("The address \(address ?? "")", reason: "\(error)"))
        }
    }

    /// Closes everything in order.
    package func stop() async {
        self.bell.close()
        // Whoever closes last empties the log.
        await self.readers.close()
        await self.driver.stop()
        await self.loop.value
    }

    /// Opens the store, waiting a little for another process that has it.
    ///
    /// Many commands at a time have it one after the other: as long as one follows another, it is waited for.
    private static func openStore(
        _ paths: DirectoryPaths,
        until end: ContinuousClock.Instant,
        _ report: @Sendable (Notice) -> Void,
        _ stopsWaiting: () async throws -> Bool
    ) async throws -> sending SQLiteStore {
        let origin = try KeyFile.load(paths).origin
        var holder = DirectoryLock.holder(paths)
        var patience = ContinuousClock.now + self.lockPatience
        while true {
            do throws(StoreError) {
                return try SQLiteStore(directory: paths.directory, origin: origin) { damage throws(StoreError) in
                    let copy = try self.keepFiles(paths)
                    report(.storeFailed(.damaged(damage.sentence(copy: copy))))
                }
            } catch {
                guard case .locked = error else { throw PeerdError(error) }
                let (now, current) = (ContinuousClock.now, DirectoryLock.holder(paths))
                if current != holder { (holder, patience) = (current, now + self.lockPatience) }
                if now >= min(patience, end) { throw PeerdError(error) }
            }
            if try await stopsWaiting() {
                throw PeerdError(
                    .alreadyOpen,
                    "\(paths.directory) is open in another process.",
                    advice: "Wait until it has ended, or stop it."
                )
            }
            try await Task.sleep(for: self.lockInterval)
        }
    }
}

extension WorkspaceRuntime {
    /// Keeps the files of a database whose log is damaged, and sees to it that none of its sequence numbers is used
    /// again, also if this process ends now.
    ///
    /// - Returns: the path of the copy of the database.
    private static func keepFiles(_ paths: DirectoryPaths) throws(StoreError) -> String {
        let copy = try DamagedFiles.keep(in: paths.directory)
        do {
            try TokenFile.acceptNone(paths)
        } catch {
            throw .unavailable((error as? PeerdError)?.message ?? "\(error)")
        }
        return copy
    }
}

extension LogDamage {
    /// Says what was found, and what becomes of it.
    fileprivate func sentence(copy: String) -> String {
        let outcome =
            if self.isInDatabase {
                "The database itself has all that was written."
            } else {
                """
                What was written behind it is not here any more; what other machines have of that comes back with the \
                next sync.
                """
            }
        return """
            the write-ahead log is not what was written, from frame \(self.frame) of \(self.lastFrame) on. \(outcome) \
            The files as they were found are kept as \(copy) and \(copy)-wal
            """
    }
}

/// The lock that a process with an open store has on its directory.
package enum DirectoryLock {
    private static let byteCountMax = 64

    /// What the process that has it has noted of itself; nil if that cannot be read.
    static func holder(_ paths: DirectoryPaths) -> [UInt8]? {
        try? RegularFile.content(of: paths.lock, atMost: self.byteCountMax)
    }

    /// Whether a process has it, or may have it.
    package static func isHeld(_ paths: DirectoryPaths) -> Bool {
        do throws(RegularFile.Failure) {
            let lock = try RegularFile(paths.lock)
            return flock(lock.descriptor, LOCK_SH | LOCK_NB) != 0
        } catch {
            return error != .absent
        }
    }
}
