internal import CRDTCore
internal import Engine
internal import PeerdKit
internal import Persistence

/// Carries out the requests of the command line on an open workspace: the one place where the verbs do their work,
/// whether in the daemon or in a process of their own.
struct Executor: RequestPerformer {
    /// What a daemon adds to a workspace.
    struct Daemon: Sendable {
        /// Where it really listens.
        var listen: NetworkAddress
        /// The host it was asked to listen on; a wildcard stands for all addresses of the machine.
        var reachableHosts: [String]
    }

    let workspace: Workspace
    let driver: NodeDriver
    let paths: DirectoryPaths
    /// Nil in a command that runs without a daemon.
    let daemon: Daemon?

    /// `runtime` is of the directory at `paths`.
    init(_ runtime: WorkspaceRuntime, at paths: DirectoryPaths, daemon: Daemon?) throws {
        self.workspace = try Workspace(runtime, at: paths)
        self.driver = runtime.driver
        self.paths = paths
        self.daemon = daemon
    }

    func perform(_ request: Request, output: CommandOutput) async throws -> Completion {
        switch request {
        case .status: try await self.status(output)
        case .peers: try await self.peers(output)
        case .invite: try await self.invite(output)
        case .meet(let hosts, let port):
            for host in hosts { await self.driver.add(NetworkAddress(host: host, port: port)) }
        case .sync(let scope, let timeoutMilliseconds):
            return try await self.sync(scope, .milliseconds(timeoutMilliseconds), output)
        case .create(let creation): try await self.create(creation, output)
        case .set(let object, let assignments): try await self.set(object, assignments, output)
        case .unset(let object, let name): try await self.unset(object, name, output)
        case .get(let object, let name): try await self.get(object, name, output)
        case .move(let object, let parent, let before): try await self.move(object, parent, before, output)
        case .remove(let object): try await self.remove(object, output)
        case .restamp(let isClockRight): try await self.restamp(isClockRight: isClockRight, output)
        case .list(let object): try await self.list(object, output)
        case .tree(let object): try await self.tree(object, output)
        case .conflicts: try await self.conflicts(output)
        case .log(let object): try await self.log(object, output)
        case .importObjects(let objects): return Completion(objectCount: try await self.workspace.importBatch(objects))
        case .export(let object): try await self.export(object, output)
        case .doctor: return try await self.doctor(output)
        }
        return Completion()
    }

    /// Has something printed from one consistent state of the store.
    func printState(
        _ output: CommandOutput,
        _ body: @Sendable (inout SQLiteStore.Transaction, Spool) throws -> Void
    ) async throws {
        let spool = Spool(directory: self.paths.directory)
        try await self.read { transaction in try body(&transaction, spool) }
        try await spool.drain(to: output)
    }

    /// Reads one consistent state of the store, beside whoever writes.
    func read<Result: Sendable>(
        _ body: @Sendable (inout SQLiteStore.Transaction) throws -> Result
    ) async throws -> Result {
        try await self.workspace.reading(body)
    }

    /// Writes a transaction, or says why not.
    func write(_ steps: [Transaction.Step]) async throws -> WriteReceipt {
        try await self.driver.write(Transaction(steps)).mapError { CommandFailure($0) }.get()
    }
}
