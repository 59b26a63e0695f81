internal import Engine
internal import Foundation
internal import NIOConcurrencyHelpers

/// What is known of the backups of a workspace: the plan, the last backup, and the last failure.
///
/// It is kept in the file `config`, so that it outlives the process.
final class BackupBook: Sendable {
    private let paths: DirectoryPaths
    private let state: NIOLockedValueBox<State>

    private struct State {
        var record: Settings.Backups
        /// Why the record could not be kept on the disk, where it is only in memory.
        var unkept: PeerdError?
        /// The same as it was told last.
        var toldUnkept: PeerdError?
        /// The wait for the next backup, which a new plan ends.
        var wait: Task<Void, Never>?
    }

    /// How soon a backup that failed is tried again, at most.
    private static let retrySeconds = 60

    init(_ paths: DirectoryPaths) throws {
        self.paths = paths
        self.state = NIOLockedValueBox(State(record: try Settings.load(paths).backups ?? Settings.Backups()))
    }

    var status: BackupStatus {
        let (record, unkept) = self.state.withLockedValue { ($0.record, $0.unkept) }
        let due = record.schedule.map { Self.dueTime($0, record) }
        return BackupStatus(
            schedule: record.schedule,
            last: record.last,
            next: due.map { Date(timeIntervalSince1970: Double($0) / 1000) },
            failure: record.failure ?? unkept,
            failureDate: record.failureTime.map { Date(timeIntervalSince1970: Double($0) / 1000) }
        )
    }

    /// Sets the plan, and keeps it.
    func set(_ schedule: BackupSchedule?) throws {
        if let schedule, schedule.folder.path == self.status.schedule?.folder.path {
            try self.requireMounted(schedule.folder.path)
        }
        try self.change { record in
            record.schedule = schedule
            record.mountPoint = schedule.flatMap { MountPoint.of($0.folder.path) }
            (record.failure, record.failureTime) = (nil, nil)
        }
    }

    /// Throws if the folder of the plan is not where the user meant it: the disk that was there is not mounted.
    func requireMounted(_ folder: String) throws {
        guard let meant = self.state.withLockedValue({ $0.record.mountPoint }), MountPoint.of(folder) != meant else {
            return
        }
        throw PeerdError(
            .storageFailed,
            "\(folder) was on the file system at \(meant) when the backups were planned, and is not now.",
            advice: "Mount that. If it is gone for good, end the plan (“peerd backup --every off”) and make another."
        )
    }

    /// Takes note of a backup.
    ///
    /// The backup counts, even if the disk does not take the note: then `status` says so.
    func note(_ backup: Backup) { self.note { $0.last = backup } }

    /// Takes note of a backup of the plan.
    func noteScheduled(_ backup: Backup) {
        self.note { record in
            record.last = backup
            record.lastScheduledTime = SystemClock.now().wall.milliseconds
            (record.failure, record.failureTime) = (nil, nil)
        }
    }

    /// Takes note of a failure of the plan; returns whether it is another than the last.
    func note(_ failure: PeerdError) -> Bool {
        let last = self.state.withLockedValue { $0.record.failure }
        self.note { ($0.failure, $0.failureTime) = (failure, SystemClock.now().wall.milliseconds) }
        return failure != last
    }

    /// Why notes are lost with this process, if that was not told before.
    func takeUntoldFailure() -> PeerdError? {
        self.state.withLockedValue { state in
            guard state.unkept != state.toldUnkept else { return nil }
            state.toldUnkept = state.unkept
            return state.unkept
        }
    }

    private func note(_ body: (inout Settings.Backups) -> Void) {
        var failure: PeerdError?
        do {
            try self.change(body)
        } catch {
            failure = PeerdError(
                .storageFailed,
                "What is known of backups could not be written to \(self.paths.settings): \(error)",
                advice: "Until it can be, a restart forgets the last backup and makes one sooner than planned."
            )
        }
        self.state.withLockedValue { $0.unkept = failure }
    }

    /// The plan, if its next backup is due; nil after a wait, since much may have changed meanwhile.
    func dueSchedule() async -> BackupSchedule? {
        let (schedule, wait): (BackupSchedule?, Task<Void, Never>?) = self.state.withLockedValue { state in
            // A clock that is set is noticed within a minute.
            var delay = Duration.seconds(60)
            if let schedule = state.record.schedule {
                let (now, due) = (SystemClock.now().wall.milliseconds, Self.dueTime(schedule, state.record))
                if now >= due { return (schedule, nil) }
                delay = min(delay, .milliseconds(due - now))
            }
            let wait = Task { _ = try? await Task.sleep(for: delay) }
            state.wait = wait
            return (nil, wait)
        }
        await withTaskCancellationHandler {
            await wait?.value
        } onCancel: {
            wait?.cancel()
        }
        return schedule
    }

    /// When the next backup is due: an interval behind the last, or sooner behind one that failed.
    ///
    /// After a clock was set back, the last one lies in the future, and says nothing.
    private static func dueTime(_ schedule: BackupSchedule, _ record: Settings.Backups) -> UInt64 {
        let now = SystemClock.now().wall.milliseconds
        func time(_ start: UInt64?, _ seconds: Int) -> UInt64 {
            guard let start, start <= now else { return 0 }
            return start + UInt64(seconds) * 1000
        }
        let due = time(record.lastScheduledTime, schedule.intervalSeconds)
        let retry = time(record.failureTime, min(schedule.intervalSeconds, Self.retrySeconds))
        return max(due, retry)
    }

    /// Changes the record in memory in any case, and on the disk if it takes it.
    private func change(_ body: (inout Settings.Backups) -> Void) throws {
        let (record, wait) = self.state.withLockedValue { state in
            body(&state.record)
            return (state.record, state.wait)
        }
        wait?.cancel()
        try Settings.update(self.paths) { $0.backups = record }
    }
}

extension Workspace {
    /// Returns the plan of regular backups, the last backup, and the failure of the last attempt.
    public func backupStatus() -> BackupStatus { self.backups.status }

    /// Sets or ends the plan of regular backups.
    ///
    /// It stays until it is set again, also over restarts. ``makeScheduledBackups(report:)`` carries it out, which the
    /// daemon calls.
    ///
    /// - Parameter schedule: the plan; nil for no more regular backups.
    /// - Throws: ``PeerdError`` with `readOnly`, `closed`, or what a disk can refuse; `invalidArgument` if the folder
    ///   cannot be used, or is in the data directory.
    public func setBackupSchedule(_ schedule: BackupSchedule?) async throws {
        _ = try self.driver()
        if let folder = schedule?.folder.path {
            try AbandonedBackup.requireOutside(self.paths, folder + "/name")
            try AbandonedBackup.requireUsable(folder)
        }
        try self.backups.set(schedule)
    }

    /// Makes the backups of the plan when they are due, until the task is cancelled.
    ///
    /// A backup that was missed, since nothing ran, is made at once. One that fails is tried again after a minute, or
    /// after the interval of the plan if that is less; ``backupStatus()`` shows the failure. After each backup, the
    /// oldest ones of this machine are removed from the folder; no other file is touched.
    ///
    /// - Parameter report: a function that is called with each backup, and with each failure that is another than the
    ///   one before.
    public func makeScheduledBackups(report: @Sendable (Result<Backup, PeerdError>) -> Void) async {
        let names = BackupNames(self.identity)
        while !Task.isCancelled, self.isOpen {
            guard let schedule = await self.backups.dueSchedule(), !Task.isCancelled else { continue }
            do {
                report(.success(try await self.makeBackup(of: schedule, names)))
            } catch is CancellationError {
                return
            } catch {
                let failure =
                    error as? PeerdError
                    ?? PeerdError(.storageFailed, "The backup failed: \(error)", advice: "Check the folder.")
                guard !Task.isCancelled, failure.code != .closed else { return }
                if self.backups.note(failure) { report(.failure(failure)) }
            }
            if let failure = self.backups.takeUntoldFailure() { report(.failure(failure)) }
        }
    }

    /// Makes a backup in the folder of the plan now.
    package func backUpBySchedule(progress: (@Sendable (Double) -> Void)? = nil) async throws -> Backup {
        guard let schedule = self.backups.status.schedule else {
            throw PeerdError(
                .invalidArgument,
                "There is no plan of backups, so the backup has no place.",
                advice: "Name a file, or set a plan first."
            )
        }
        return try await self.makeBackup(of: schedule, BackupNames(self.identity), progress)
    }

    private func makeBackup(
        of schedule: BackupSchedule,
        _ names: BackupNames,
        _ progress: (@Sendable (Double) -> Void)? = nil
    ) async throws -> Backup {
        let folder = schedule.folder.path
        try self.backups.requireMounted(folder)
        AbandonedBackup.remove(in: folder) { $0.hasPrefix(".\(names.beginning)") }
        let path = "\(folder)/\(names.name(at: SystemClock.now().wall.milliseconds))"
        let backup = try await self.makeBackup(at: path, progress)
        self.backups.noteScheduled(backup)
        try names.prune(folder, keeping: schedule.keptCount)
        return backup
    }
}
