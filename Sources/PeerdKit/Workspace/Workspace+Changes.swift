internal import Engine
internal import Persistence

extension Workspace {
    /// What changes in a scope: first what has changed since a token, then each further change.
    ///
    /// ```swift
    /// for try await delta in workspace.changes(of: .subtree(list), since: index.token) {
    ///     try index.apply(delta)
    /// }
    /// ```
    ///
    /// Without a token the first element is the whole state now (``Delta/isReset``), in parts of about 1,000 objects.
    /// The same comes if the token is of the same workspace on another machine, or of a database that was put back or
    /// copied since: no change is missed.
    ///
    /// - Parameters:
    ///   - scope: of which objects.
    ///   - token: that of the last element that was taken in.
    /// - Returns: a sequence that waits for changes, and ends when the task is cancelled or the workspace is closed.
    /// - Throws: ``PeerdError`` with `tokenFromAnotherWorkspace`, `tokenOfAnotherScope` or `closed`.
    public func changes(of scope: Scope, since token: ChangeToken? = nil) throws -> Changes {
        try self.requireOpen()
        let reading = DeltaReading(scope: scope, workspace: self.identity.workspace, device: self.identity.device)
        guard let token else { return Changes(workspace: self, reading: reading, start: .start) }
        guard token.workspace == self.identity.workspace else {
            throw PeerdError(
                .tokenFromAnotherWorkspace,
                "The token is of another workspace.",
                advice: "Forget what was read from that one, and begin without a token."
            )
        }
        guard token.scope == scope.digest else {
            throw PeerdError(
                .tokenOfAnotherScope,
                "The token is of another scope.",
                advice: "Use the scope that it came from, or begin without a token."
            )
        }
        let start = DeltaReading.Position(history: token.history, place: token.place, resetEnd: token.resetEnd)
        return Changes(workspace: self, reading: reading, start: start)
    }

    /// The first objects of a query, now and after each change of them.
    ///
    /// ```swift
    /// for try await page in workspace.live(open, limit: 50) { rows = page.objects }
    /// ```
    ///
    /// - Parameters:
    ///   - query: which objects, in which order.
    ///   - limit: how many at most, from 1 to 10,000.
    /// - Returns: a sequence that ends when the task is cancelled or the workspace is closed.
    /// - Complexity: What ``page(_:after:limit:)`` costs, once after each commit that changes any object.
    public func live(_ query: Query, limit: Int = 100) -> LivePages {
        LivePages(workspace: self, query: query, limit: limit)
    }

    /// Returns once there may have been a commit behind one.
    func waitForCommit(beyond commit: Int64) async {
        if let runtime = self.runtime { return await runtime.bell.wait(beyond: commit) }
        // Another process writes, and tells nobody but the database.
        while !Task.isCancelled, self.isOpen {
            let last = try? await self.reading { $0.lastCommit }
            if last != commit { return }
            try? await Task.sleep(for: Self.pollInterval)
        }
    }

    /// How soon a process that only reads sees what another has written.
    private static let pollInterval = Duration.milliseconds(100)
}
