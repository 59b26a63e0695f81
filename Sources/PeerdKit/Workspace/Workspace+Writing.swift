package import Engine
internal import NIOConcurrencyHelpers
internal import Persistence

extension Workspace {
    /// Writes one transaction: all of its edits, or none.
    ///
    /// The closure is called once, on the executor of the writer. Other writers and the sync wait for it, so compute
    /// beforehand what takes long. Transactions that several tasks write at the same time share one commit.
    ///
    /// Cancelling the task has no effect on the transaction.
    ///
    /// - Parameter body: makes the edits; the transaction cannot leave it.
    /// - Returns: the result of the closure, once all edits are on the disk.
    /// - Throws: the error of the closure, and nothing was written; ``PeerdError`` with `readOnly`, `closed`,
    ///   `diskFull`, `storageFailed` or `damaged`.
    @discardableResult
    public func write<Result: Sendable>(
        _ body: @escaping @Sendable (inout WriteTransaction) throws -> Result
    ) async throws -> Result {
        try await self.writeWithReceipt(body).result
    }

    /// Writes one transaction to a branch: all of its edits, or none.
    ///
    /// - Parameters:
    ///   - branch: the branch that takes the edits; nil for the main timeline.
    ///   - body: makes the edits, against the state of the branch; the transaction cannot leave it.
    /// - Returns: the result of the closure, once all edits are on the disk.
    /// - Throws: as ``write(_:)`` does; ``PeerdError`` with `noSuchBranch`.
    /// - Complexity: Looking up what an edit needs costs what reading the past costs; see ``read(at:_:)``.
    @discardableResult
    public func write<Result: Sendable>(
        on branch: BranchID?,
        _ body: @escaping @Sendable (inout WriteTransaction) throws -> Result
    ) async throws -> Result {
        try await self.writeWithReceipt(on: branch, body).result
    }

    /// The same for one of several transactions, so many of which are written; an error says so.
    package func write<Result: Sendable>(
        behind transactionCount: Int,
        on branch: BranchID?,
        _ body: @escaping @Sendable (inout WriteTransaction) throws -> Result
    ) async throws -> Result {
        do {
            return try await self.write(on: branch, body)
        } catch let error as PeerdError {
            throw error.behind(transactionCount)
        }
    }

    /// The same; also tells which change holds the edits.
    package func writeWithReceipt<Result: Sendable>(
        on branch: BranchID? = nil,
        _ body: @escaping @Sendable (inout WriteTransaction) throws -> Result
    ) async throws -> (result: Result, receipt: WriteReceipt) {
        let driver = try self.driver()
        let outcome = NIOLockedValueBox<Swift.Result<Result, any Error>?>(nil)
        let answer = await driver.write(on: branch) { local throws(WriteRefusal) in
            try WriteTransaction.run(body, on: &local) { result in outcome.withLockedValue { $0 = result } }
        }
        switch (answer, outcome.withLockedValue { $0 }) {
        case (.success(let receipt), let result?): return (try result.get(), receipt)
        case (.failure(.abandoned), .failure(let error)?): throw await self.explained(error)
        case (.failure(let refusal), _): throw await self.explained(PeerdError(refusal))
        case (.success, nil): throw PeerdError(WriteRefusal.abandoned)
        }
    }

    /// Writes a transaction that has a name once, however often it is asked for, also after a crash.
    ///
    /// The closure is not called if the write was done before. What fails is not remembered.
    ///
    /// - Returns: the objects that the transaction created, now or then, in the order of its creations.
    /// - Throws: as `write` does; `WriteRefusal.nameTaken` if a write with other content has the name.
    package func writeOnce(
        _ name: IdempotencyKey,
        on branch: BranchID? = nil,
        _ body: @escaping @Sendable (inout WriteTransaction) throws -> Void
    ) async throws -> [ObjectID] {
        let driver = try self.driver()
        let failure = NIOLockedValueBox<(any Error)?>(nil)
        let answer = await driver.write(named: name, on: branch) { local throws(WriteRefusal) in
            try WriteTransaction.run(body, on: &local) { result in
                if case .failure(let error) = result { failure.withLockedValue { $0 = error } }
            }
        }
        switch answer {
        case .success(let receipt): return receipt.created
        case .failure(.abandoned):
            throw await self.explained(failure.withLockedValue { $0 } ?? PeerdError(WriteRefusal.abandoned))
        case .failure(.nameTaken(let name)): throw WriteRefusal.nameTaken(name)
        case .failure(let refusal): throw await self.explained(PeerdError(refusal))
        }
    }

    /// An error, with what decides if it says that something is not permitted.
    private func explained(_ error: any Error) async -> any Error {
        guard var error = error as? PeerdError, let denial = error.denial, error.decision == nil else { return error }
        error.decision = try? await self.decision(on: denial)
        return error
    }

    /// Returns the objects that a named write created; nil if it was not done, or is forgotten.
    ///
    /// - Throws: as `read` does; `WriteRefusal.nameTaken` if a write with other content has the name.
    package func createdObjects(of name: IdempotencyKey) async throws -> [ObjectID]? {
        let earlier = try await self.reading { transaction in try transaction.rememberedWrite(name.text) }
        guard let earlier else { return nil }
        guard earlier.content == name.content else { throw WriteRefusal.nameTaken(name.text) }
        return earlier.created
    }
}

extension WriteTransaction {
    /// Runs a caller's closure on a transaction of the engine.
    fileprivate static func run<Result>(
        _ body: (inout WriteTransaction) throws -> Result,
        on local: inout LocalTransaction,
        _ note: (Swift.Result<Result, any Error>) -> Void
    ) throws(WriteRefusal) {
        var transaction = WriteTransaction(local)
        do {
            note(.success(try body(&transaction)))
            local = transaction.finish()
        } catch {
            local = transaction.finish()
            note(.failure(error))
            throw .abandoned
        }
    }
}
