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
    package let snapshots: SnapshotPool
    package let inbox: NodeInbox
    /// For those who wait for changes.
    let bell: CommitBell
    private let loop: Task<Void, Never>

    /// How long to wait for another process to give the directory free.
    private static let lockPatience = Duration.seconds(3)
    private static let lockInterval = Duration.milliseconds(50)

    /// Opens the workspace of a directory and begins to handle events.
    ///
    /// The transport must post its events to the inbox; `report` is called with what the user should know, and `role`
    /// is asked for once the directory is locked.
    package static func open(
        _ paths: DirectoryPaths,
        transport: TCPTransport,
        inbox: NodeInbox,
        report: @escaping @Sendable (Notice) -> Void,
        role: () async throws -> NodeDriver.Role
    ) async throws -> WorkspaceRuntime {
        let identity = try KeyFile.load(paths)
        let store = try await self.openStore(paths, origin: identity.origin)
        do {
            let role = try await role()
            let token = try TokenFile.open(paths, renews: role.mayWrite)
            let configuration = NodeConfiguration(
                listenPort: role.listenPort,
                staticAddresses: role.staticAddresses,
                discovers: role.discovers,
                acceptedTokens: token.accepted,
                nextToken: token.next
            )
            guard let entropy = EntropyStream(seed: SystemEntropy.seed()) else {
                throw PeerdError.noRandomness
            }
            let node = try Node(
                store: store,
                identity: identity,
                configuration: configuration,
                entropy: entropy,
                at: SystemClock.now()
            )
            try token.settle()
            let beacons = role.discovers ? BeaconTransport() : nil
            let bell = CommitBell()
            let driver = NodeDriver(
                node: node,
                inbox: inbox,
                bell: bell,
                transport: transport,
                beacons: beacons,
                dialsPeers: role.dialsPeers,
                report: report
            )
            await beacons?.start { payload, host in inbox.post(.beacon(payload, fromHost: host)) }
            let loop = Task(priority: .userInitiated) { await driver.run() }
            return WorkspaceRuntime(
                driver: driver,
                snapshots: SnapshotPool(directory: paths.directory),
                inbox: inbox,
                bell: bell,
                loop: loop
            )
        } catch let error as StoreError {
            throw PeerdError(error)
        }
    }

    /// The same for a command that only wants the store.
    package static func openStoreAlone(
        _ paths: DirectoryPaths,
        mayWrite: Bool,
        report: @escaping @Sendable (Notice) -> Void
    ) async throws -> WorkspaceRuntime {
        let inbox = NodeInbox()
        return try await self.open(
            paths,
            transport: TCPTransport(events: { inbox.post(Event($0)) }),
            inbox: inbox,
            report: report,
            role: { NodeDriver.Role(dialsPeers: false, mayWrite: mayWrite) }
        )
    }

    /// Closes everything in order.
    package func stop() async {
        self.bell.close()
        // Whoever closes last empties the log.
        await self.snapshots.close()
        await self.driver.stop()
        await self.loop.value
    }

    /// Opens the store, waiting a little for another process that has it.
    private static func openStore(_ paths: DirectoryPaths, origin: Hash256) async throws -> SQLiteStore {
        let patience = ContinuousClock.now + self.lockPatience
        while true {
            do throws(StoreError) {
                return try SQLiteStore(directory: paths.directory, origin: origin)
            } catch {
                guard case .unavailable(let reason) = error, DirectoryLock.isHeld(paths) else {
                    throw PeerdError(error)
                }
                if ContinuousClock.now >= patience {
                    throw PeerdError(.alreadyOpen, reason, advice: "Wait until it has ended, or stop it.")
                }
            }
            try await Task.sleep(for: self.lockInterval)
        }
    }
}

/// The lock that a process with an open store has on its directory.
package enum DirectoryLock {
    /// Whether some process has it just now.
    package static func isHeld(_ paths: DirectoryPaths) -> Bool {
        let descriptor = open(paths.lock, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
    }
}
