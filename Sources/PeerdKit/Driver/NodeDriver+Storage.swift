internal import CRDTCore
package import Engine
internal import Persistence

/// Dropping what was superseded, and what was erased, and giving its room back.
extension NodeDriver {
    /// Drops writes that were superseded, a part at a time: others have their turn in between.
    package func compact(
        keeping milliseconds: UInt64,
        awaitingWithin awaited: UInt64,
        isDryRun: Bool,
        progress: @Sendable (CompactionRun) -> Void
    ) async throws -> CompactionRun {
        var run = try self.storing { node throws(StoreError) in
            // What an open branch barred may be free by now.
            node.retryErasing()
            return try node.beginCompaction(
                keeping: milliseconds,
                awaitingWithin: awaited,
                isDryRun: isDryRun,
                at: SystemClock.now()
            )
        }
        while !run.isDone {
            try Task.checkCancellation()
            let step = run
            run = try self.storing { node throws(StoreError) in
                var next = step
                do throws(StoreError) {
                    try node.step(&next, at: SystemClock.now())
                } catch .diskFull {
                    // The log keeps what the steps before have written, which can be moved into the database.
                    _ = try node.tend { store throws(StoreError) in try store.emptyLog() }
                    try node.step(&next, at: SystemClock.now())
                }
                return next
            }
            progress(run)
            await Task.yield()
        }
        return run
    }

    /// Gives room back to the file system; returns the length of the database before and after.
    ///
    /// `mayLeaveBytes`: whether bytes of what was deleted may be left, where there is no room to write the file anew.
    package func shrink(
        always: Bool,
        mayLeaveBytes: Bool = false
    ) throws -> (before: Int, after: Int, isLogEmpty: Bool) {
        try self.storing { node throws(StoreError) in
            try node.tend { store throws(StoreError) in
                try store.shrink(always: always, mayLeaveBytes: mayLeaveBytes)
            }
        }
    }

    // MARK: - Erasures

    /// Erases what changes ask for, a part at a time, until nothing is left but what open branches bar.
    package func erase() async throws {
        while try !self.storing({ node throws(StoreError) in try node.stepErasing() }) { await Task.yield() }
    }

    /// Lets what a device wants to be erased through, or stops it, from now on.
    package func decideErasures(of device: DeviceID, areAllowed: Bool) throws {
        try self.storing { node throws(StoreError) in
            try node.decideErasures(of: device, areAllowed: areAllowed)
        }
    }

    /// Writes the files of the database anew, so that no byte of what was erased is left in them.
    ///
    /// - Returns: false if somebody reads an older state, so that the write-ahead log may hold such bytes still.
    package func writeFilesAnew() throws -> Bool {
        let start = SystemClock.now().monotonicMilliseconds
        let isLogEmpty: Bool
        do {
            isLogEmpty = try self.shrink(always: true).isLogEmpty
            if isLogEmpty { try self.storing { node throws(StoreError) in try node.forgetErasedBytes() } }
        } catch {
            // To wait for another program is no work to rest from.
            let wasWork = (error as? PeerdError)?.code != .alreadyOpen
            let end = wasWork ? SystemClock.now().monotonicMilliseconds : start
            self.scrubbing.failed(from: start, to: end)
            throw error
        }
        self.scrubbing.wroteFiles(isLogEmpty: isLogEmpty, from: start, to: SystemClock.now().monotonicMilliseconds)
        // From now on the log is tried again and again, whatever was planned.
        self.scrub?.cancel()
        self.scrub = nil
        self.scheduleScrub()
        return isLogEmpty
    }

    /// Sees to it that what others have erased leaves the files of a machine that takes part.
    func scheduleScrub() {
        guard self.scrub == nil, self.dialsPeers, self.holdsErasedBytes else { return }
        let delay = self.scrubbing.delay(at: SystemClock.now().monotonicMilliseconds)
        self.scrub = Task {
            guard (try? await Task.sleep(for: .milliseconds(delay))) != nil else { return }
            self.scrubNow()
        }
    }

    private func scrubNow() {
        self.scrub = nil
        // Whatever comes of it is planned from here on; what fails is tried again later, also after another start.
        defer { self.scheduleScrub() }
        guard self.holdsErasedBytes else { return }
        let now = SystemClock.now().monotonicMilliseconds
        switch self.scrubbing.step(at: now) {
        case .emptyLog:
            let isLogEmpty = try? self.storing { node throws(StoreError) in
                try node.tend { store throws(StoreError) in try store.emptyLog() }
            }
            self.scrubbing.triedLog(isEmpty: isLogEmpty ?? false, at: now)
        case .writeFiles:
            do {
                _ = try self.writeFilesAnew()
            } catch {
                self.report(.erasedBytesRemain(reason: (error as? PeerdError)?.message ?? "\(error)"))
            }
        }
    }
}
