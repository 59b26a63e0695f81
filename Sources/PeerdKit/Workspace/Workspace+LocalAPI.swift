package import CRDTCore
package import Engine
package import Persistence

/// What the local API asks for beside what every application can.
extension Workspace {
    /// Returns what the node knows of itself and the other machines.
    package func nodeStatus() async throws -> NodeStatus {
        if self.runtime != nil { return try await self.driver().status() }
        let paths = self.paths
        return try await self.reading { transaction in
            try NodeStatus(of: try KeyFile.load(paths), in: &transaction, at: SystemClock.now().wall)
        }
    }

    /// The number of events so far that may have changed the status of the node.
    package func eventCount() async -> Int64 { (try? await self.driver().eventCount) ?? 0 }

    /// Returns when there was an event behind so many, and after a while at the latest: clocks and files tell nobody
    /// when they change.
    package func waitForEvent(beyond count: Int64, atMost patience: Duration) async {
        let bell = try? self.driver().eventBell
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await Task.sleep(for: patience) }
            if let bell { group.addTask { await bell.wait(beyond: count, since: bell.silentCount) } }
            await group.next()
            group.cancelAll()
        }
    }

    /// Counts what the database holds, unless nothing was committed since it was counted before.
    ///
    /// - Complexity: O(*n* + *c*) for *n* objects and *c* candidates for conflicts; O(1) if nothing was committed.
    package func counts(
        unlessUnchangedSince known: (counts: WorkspaceCounts, mark: ReadMark?)?
    ) async throws -> (counts: WorkspaceCounts, mark: ReadMark?) {
        let answer = try self.readers.readAtOnce(unlessUnchangedSince: known?.mark) { transaction in
            try WorkspaceCounts(in: &transaction)
        }
        switch (answer, known) {
        case (.content(let counts, let mark), _): return (counts, mark)
        case (.unchanged, let known?): return known
        default: return (try await self.counts(), nil)
        }
    }

    /// Whether the last write to the disk failed; costs nothing.
    package func storeFails() async throws -> Bool {
        guard self.runtime != nil else { return false }
        return try await self.driver().storeFails
    }

    /// The copies of databases whose logs were found damaged, until somebody takes them away.
    package var damagedCopies: [String] { DamagedFiles.kept(in: self.paths.directory) }

    /// Returns an object, at once on the caller's thread; nil if that is not possible now.
    ///
    /// `mark`: that of an earlier answer. The object of the answer is nil if it does not exist.
    package func objectAtOnce(
        _ id: ObjectID,
        unlessUnchangedSince mark: ReadMark?
    ) throws -> ReadAnswer<Object?>? {
        guard self.isOpen else { return nil }
        return try self.readers.readAtOnce(unlessUnchangedSince: mark) { transaction in
            var state = WorkspaceState(.present, of: transaction)
            return try Object.find(id, in: &state)
        }
    }

    /// Returns a sequence of the changes in a scope from now on, without the state, and the token of this moment.
    package func changesFromNow(of scope: Scope) async throws -> (changes: Changes, token: ChangeToken) {
        let reading = DeltaReading(scope: scope, workspace: self.identity.workspace, device: self.identity.device)
        let start = try await self.reading { try reading.end(in: &$0) }
        return (Changes(workspace: self, reading: reading, start: start), reading.token(at: start))
    }

    /// Keeps an address to dial.
    package func keep(_ address: NetworkAddress) async throws { try await self.driver().add(address) }

    /// Orders held changes of the user's devices directly after what they had seen.
    package func restamp(isClockRight: Bool) async throws -> WriteReceipt {
        try await self.driver().restamp(isClockRight: isClockRight).mapError { PeerdError($0) }.get()
    }

    /// Returns the id of the user's object that a type and a key name, whether it exists or not.
    package func objectID(_ type: String, key: String) -> ObjectID {
        ObjectID(of: self.identity.user, key: key, type: type, in: self.identity.objectNamespace)
    }

    /// Writes all objects, or one and everything below it, as canonical JSON, in pieces.
    ///
    /// The pieces show one moment.
    package func writeExport(
        under root: ObjectID?,
        at moment: Moment? = nil,
        to write: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        try await self.reading(at: moment, to: write) { transaction, put in
            let top = try root.flatMap { try transaction.existingObjectIndex(of: $0) }
            if root != nil, top == nil { return }
            try ExportText.write(under: top, in: &transaction, to: put)
        }
    }

    /// Reads one state of the store, and hands over what is read of it in pieces.
    ///
    /// However long `write` takes, `body` reads on, so that nobody waits for whoever takes the pieces. Two do so at a
    /// time, so that the other connections are there for those who read little.
    package func reading(
        to write: @escaping @Sendable ([UInt8]) async throws -> Void,
        _ body: @escaping @Sendable (inout SQLiteStore.Transaction, ([UInt8]) throws -> Void) throws -> Void
    ) async throws {
        let (pipe, turns) = (PiecePipe(directory: self.paths.directory), self.streamTurns)
        async let reading: Void = {
            defer { pipe.finish() }
            try await turns.begin()
            defer { turns.end() }
            try await self.reading { transaction in try body(&transaction) { try pipe.put($0) } }
        }()
        do {
            while let piece = try await pipe.next() { try await write(piece) }
        } catch {
            pipe.cancel()
            _ = try? await reading
            throw error
        }
        try await reading
    }
}
