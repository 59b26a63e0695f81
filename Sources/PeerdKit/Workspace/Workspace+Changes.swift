internal import Engine
internal import Persistence

extension Workspace {
    /// Returns a sequence of the changes in a scope: first those since a token, then each further change.
    ///
    /// ```swift
    /// for try await delta in try workspace.changes(of: .subtree(list), since: index.token) {
    ///     index.apply(delta)
    ///     if !delta.hasMore { try index.save(to: file) }
    /// }
    /// ```
    ///
    /// Without a token the sequence starts with the whole state (``Delta/isReset``), in parts of about 1,000 objects.
    /// It does the same if the token comes from another machine of the workspace, or from a database that was restored
    /// or copied since. No change is missed. <doc:Observing> explains how to keep an index in step.
    ///
    /// - Parameters:
    ///   - scope: the objects to observe.
    ///   - token: ``Delta/token`` of the last element that was handled; nil to start with the whole state.
    /// - Returns: a sequence that waits for changes, and ends when the task is cancelled or the workspace is closed.
    /// - Throws: ``PeerdError`` with `tokenFromAnotherWorkspace`, `tokenOfAnotherScope` or `closed`.
    public func changes(of scope: Scope, since token: ChangeToken? = nil) throws -> Changes {
        try self.requireOpen()
        let reading = DeltaReading(scope: scope, workspace: self.identity.workspace, device: self.identity.device)
        guard let token else { return Changes(workspace: self, reading: reading, start: .start) }
        guard token.workspace == self.identity.workspace else {
            throw PeerdError(
                .tokenFromAnotherWorkspace,
                "The token belongs to another workspace.",
                advice: "Discard what was read from that one, and begin without a token."
            )
        }
        guard token.scope == scope.digest else {
            throw PeerdError(
                .tokenOfAnotherScope,
                "The token belongs to another scope.",
                advice: "Use the scope that it came from, or begin without a token."
            )
        }
        let start = DeltaReading.Position(history: token.history, place: token.place, resetEnd: token.resetEnd)
        return Changes(workspace: self, reading: reading, start: start)
    }

    /// Returns a sequence of the first page of a query: as it is now, and after each change of it.
    ///
    /// ```swift
    /// for try await page in workspace.live(open, limit: 50) { self.rows = page.objects }
    /// ```
    ///
    /// - Parameters:
    ///   - query: the objects to read, and their order.
    ///   - limit: the most objects of a page, from 1 to 10,000.
    /// - Returns: a sequence that ends when the task is cancelled or the workspace is closed.
    /// - Complexity: After a commit the objects are looked at that it changed. The query is run again, as by
    ///   ``page(_:after:limit:)``, if one of them is in the page, or comes before its last object now. Commits that
    ///   come meanwhile count as one.
    public func live(_ query: Query, limit: Int = 100) -> LivePages {
        LivePages(workspace: self, query: query, limit: limit)
    }

    /// What ``waitForCommit(beyond:since:)`` has to know from before the commit was read.
    var silentCommitCount: UInt64 { self.runtime?.bell.silentCount ?? 0 }

    /// Returns once there may have been a commit behind one.
    func waitForCommit(beyond commit: Int64, since silentCount: UInt64) async {
        if let runtime = self.runtime { return await runtime.bell.wait(beyond: commit, since: silentCount) }
        // Another process writes, and tells nobody but the database.
        while !Task.isCancelled, self.isOpen {
            let last = try? await self.reading { $0.lastCommit }
            if last != commit { return }
            try? await Task.sleep(for: Self.pollInterval)
        }
    }

    /// The delay after which a process that only reads looks for new commits.
    private static let pollInterval = Duration.milliseconds(100)
}
