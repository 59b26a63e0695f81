internal import CRDTCore
internal import Engine
internal import NIOConcurrencyHelpers

extension Workspace {
    /// Does something in one go: ``undo(_:of:on:progress:)`` takes all of its transactions back in one step.
    ///
    /// Transactions that the closure and the tasks below it write belong to the action, one after the other; those that
    /// others write at the same time do not. An action within an action of the same program is part of it.
    ///
    /// Each transaction becomes durable by itself: if the program ends in between, those that were written stay, and
    /// are the action.
    ///
    /// - Parameters:
    ///   - program: the name of the program that does it, in at most 64 bytes; nil for that of the action around it, or
    ///     for none. An undo takes back what the same program has done, if nothing else is asked for.
    ///   - isolation: the actor on which it runs.
    ///   - body: what is done.
    /// - Returns: the result of the closure.
    /// - Throws: what the closure throws; ``PeerdError`` with `invalidArgument` if the name is too long.
    public func action<Result>(
        by program: String? = nil,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async throws -> Result {
        let outer = RunningAction.current
        if let outer, program == nil || program == outer.program { return try await body() }
        return try await RunningAction(try Self.checked(program ?? "")).perform(isolation: isolation, body)
    }

    /// A name that a program may have.
    package static func checked(_ program: String) throws -> String {
        guard program.utf8.count <= Limits.labelByteCountMax else {
            throw PeerdError(
                .invalidArgument,
                "The name of the program is longer than \(Limits.labelByteCountMax) bytes.",
                advice: "Choose a shorter one."
            )
        }
        return program
    }
}

/// What a task, and those below it, does in one go; see ``Workspace/action(by:isolation:_:)``.
package final class RunningAction: Sendable {
    @TaskLocal package static var current: RunningAction?

    package let program: String
    /// The stamp of the change with which it began on each timeline.
    private let starts = NIOLockedValueBox<[BranchID?: Stamp]>([:])

    package init(_ program: String) { self.program = program }

    package func perform<Result>(
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Result
    ) async rethrows -> Result {
        try await RunningAction.$current.withValue(self, operation: body)
    }

    /// What the next transaction on a timeline belongs to.
    func context(on branch: BranchID?) -> ActionContext {
        ActionContext(label: self.program, start: self.starts.withLockedValue { $0[branch] })
    }

    /// Takes note of a transaction that was written.
    func note(_ receipt: WriteReceipt, on branch: BranchID?) {
        guard let start = receipt.start else { return }
        // Of two that began it at once, the first one that was written.
        self.starts.withLockedValue { $0[branch] = min($0[branch] ?? start, start) }
    }
}
