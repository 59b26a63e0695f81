import CRDTCore

/// Connections that read a database beside the one that writes it, in this process or another.
///
/// Neither waits for the other: SQLite keeps in its log what readers still look at. A reader that stays long keeps the
/// log from being emptied, and nothing else.
package actor SnapshotPool {
    private let path: String
    private let configuration: StoreConfiguration
    private var idle: [SnapshotReader] = []
    private var openCount = 0
    private var waiting: [(number: UInt64, continuation: CheckedContinuation<SnapshotReader?, Never>)] = []
    private var lastNumber: UInt64 = 0
    private var closing: [CheckedContinuation<Void, Never>] = []
    private var isOpen = true

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
    package nonisolated func read<Result: Sendable>(
        _ body: @Sendable (inout SQLiteTransaction) throws -> Result
    ) async throws -> Result {
        let reader = try await self.take()
        do {
            let result = try await reader.read(body)
            await self.giveBack(reader)
            return result
        } catch {
            await self.giveBack(reader)
            throw error
        }
    }

    /// Waits for those that read, and closes all connections; whoever still waits for one is refused.
    package func close() async {
        self.isOpen = false
        for waiter in self.waiting { waiter.continuation.resume(returning: nil) }
        self.waiting = []
        if self.openCount > self.idle.count { await withCheckedContinuation { self.closing.append($0) } }
        let readers = self.idle
        self.idle = []
        self.openCount -= readers.count
        for reader in readers { await reader.close() }
    }

    private func take() async throws -> SnapshotReader {
        try Task.checkCancellation()
        guard self.isOpen else { throw Self.closed }
        if let reader = self.idle.popLast() { return reader }
        if self.openCount < Self.readerCountMax {
            let reader = try SnapshotReader(path: self.path, configuration: self.configuration)
            self.openCount += 1
            return reader
        }
        self.lastNumber += 1
        let number = self.lastNumber
        let reader: SnapshotReader? = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<SnapshotReader?, Never>) in
                if Task.isCancelled {
                    continuation.resume(returning: nil)
                } else {
                    self.waiting.append((number, continuation))
                }
            }
        } onCancel: {
            Task { await self.cancel(number) }
        }
        if let reader { return reader }
        throw self.isOpen ? CancellationError() : Self.closed as any Error
    }

    private func cancel(_ number: UInt64) {
        guard let place = self.waiting.firstIndex(where: { $0.number == number }) else { return }
        self.waiting.remove(at: place).continuation.resume(returning: nil)
    }

    private func giveBack(_ reader: SnapshotReader) {
        if self.isOpen, !self.waiting.isEmpty {
            self.waiting.removeFirst().continuation.resume(returning: reader)
            return
        }
        self.idle.append(reader)
        guard !self.isOpen, self.idle.count == self.openCount else { return }
        for closer in self.closing { closer.resume() }
        self.closing = []
    }
}
