import CRDTCore
import Synchronization

/// Connections that read a database beside the one that writes it, in this process or another.
///
/// Neither waits for the other: SQLite keeps in its log what readers still look at. A reader that stays long keeps the
/// log from being emptied, and nothing else.
package final class ReadPool: Sendable {
    private let path: String
    private let configuration: StoreConfiguration
    private let state = Mutex(State())

    /// Who reads, who could, and who waits.
    private struct State {
        var idle: [PoolReader] = []
        var openCount = 0
        var waiting: [(number: UInt64, continuation: CheckedContinuation<PoolReader?, Never>)] = []
        var lastNumber: UInt64 = 0
        var closing: [CheckedContinuation<Void, Never>] = []
        var isOpen = true

        var isWholeIdle: Bool { self.idle.count == self.openCount }
    }

    /// As many read at the same time; further ones wait for one of them.
    package static let readerCountMax = 4

    static let closed = StoreError.unavailable("The database has been closed.")

    /// Opens nothing yet: that is done as readers are needed.
    package init(directory: String, configuration: StoreConfiguration = StoreConfiguration()) {
        self.path = directory + "/" + SQLiteStore.fileName
        self.configuration = configuration
    }

    /// Reads the last state that is committed when a reader is free.
    ///
    /// What `body` changes is forgotten. It may take its time, and runs on no thread that others need.
    /// - Throws: what `body` throws, a `StoreError`, or `CancellationError` if the task is cancelled while it waits.
    package func read<Content: Sendable>(
        _ body: @Sendable (inout SQLiteTransaction) throws -> Content
    ) async throws -> Content {
        let reader = try await self.take()
        defer { self.giveBack(reader) }
        return try await reader.readOnOwnThread(body)
    }

    /// Like ``read(_:)``, for a body that takes microseconds: it runs at once on the thread of the caller's task.
    ///
    /// Two changes of threads cost several times as much as to look up one object.
    package func readBriefly<Content>(
        _ body: (inout SQLiteTransaction) throws -> Content
    ) async throws -> Content {
        let reader = try await self.take()
        defer { self.giveBack(reader) }
        return try reader.read(body)
    }

    /// Like ``readBriefly(_:)``, for callers that cannot wait: nil if no reader is free and open.
    ///
    /// `mark`: that of an earlier answer. If nothing has been committed since, `body` is not called.
    package func readAtOnce<Content>(
        unlessUnchangedSince mark: ReadMark? = nil,
        _ body: (inout SQLiteTransaction) throws -> Content
    ) throws -> ReadAnswer<Content>? {
        guard let reader = self.state.withLock({ $0.isOpen ? $0.idle.popLast() : nil }) else { return nil }
        defer { self.giveBack(reader) }
        return try reader.read(unlessUnchangedSince: mark, body)
    }

    /// Waits for those that read, and closes all connections; whoever still waits for one is refused.
    package func close() async {
        let refused = self.state.withLock { state in
            state.isOpen = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for waiter in refused { waiter.continuation.resume(returning: nil) }
        await withCheckedContinuation { closer in
            let isWholeIdle = self.state.withLock { state in
                if !state.isWholeIdle { state.closing.append(closer) }
                return state.isWholeIdle
            }
            if isWholeIdle { closer.resume() }
        }
        let readers = self.state.withLock { state in
            defer { (state.idle, state.openCount) = ([], 0) }
            return state.idle
        }
        for reader in readers { reader.close() }
    }

    /// What a request for a reader gets.
    private enum Answer {
        case reader(PoolReader)
        /// There is room for one more connection, which the caller opens.
        case room
        /// All read; the caller gets this number, and waits.
        case queued(UInt64)
    }

    private func take() async throws -> PoolReader {
        try Task.checkCancellation()
        let answer: Answer = try self.state.withLock { state in
            guard state.isOpen else { throw Self.closed }
            if let reader = state.idle.popLast() { return .reader(reader) }
            if state.openCount < Self.readerCountMax {
                state.openCount += 1
                return .room
            }
            state.lastNumber += 1
            return .queued(state.lastNumber)
        }
        switch answer {
        case .reader(let reader): return reader
        case .room: return try self.open()
        case .queued(let number): return try await self.wait(number)
        }
    }

    private func open() throws -> PoolReader {
        do {
            return try PoolReader(path: self.path, configuration: self.configuration)
        } catch {
            let closers = self.state.withLock { state in
                state.openCount -= 1
                return Self.closersToTell(&state)
            }
            for closer in closers { closer.resume() }
            throw error
        }
    }

    private func wait(_ number: UInt64) async throws -> PoolReader {
        let reader: PoolReader? = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<PoolReader?, Never>) in
                // Somebody may have given one back, or closed the pool, since the number was given out.
                let answer: PoolReader?? = self.state.withLock { state in
                    if Task.isCancelled || !state.isOpen { return .some(nil) }
                    if let reader = state.idle.popLast() { return .some(reader) }
                    state.waiting.append((number, continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = self.state.withLock { state in
                state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: nil)
        }
        if let reader { return reader }
        throw Task.isCancelled ? CancellationError() : Self.closed as any Error
    }

    private func giveBack(_ reader: PoolReader) {
        let waiter: CheckedContinuation<PoolReader?, Never>? = self.state.withLock { state in
            if state.isOpen, !state.waiting.isEmpty { return state.waiting.removeFirst().continuation }
            state.idle.append(reader)
            return nil
        }
        if let waiter { return waiter.resume(returning: reader) }
        for closer in self.state.withLock({ Self.closersToTell(&$0) }) { closer.resume() }
    }

    private static func closersToTell(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
        guard !state.isOpen, state.isWholeIdle else { return [] }
        defer { state.closing = [] }
        return state.closing
    }
}
