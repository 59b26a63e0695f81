internal import ArgumentParser
internal import CRDTCore
internal import Foundation
internal import LocalAPI
internal import PeerdKit

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Write the whole data directory into one file, also while the daemon runs.",
        discussion: """
            peerd backup [write] FILE                  writes a backup
            peerd backup --every 1d --keep 7 --to DIR  has the daemon write daily ones
            peerd backup verify FILE                   checks a backup
            peerd backup restore FILE --dir DIR        makes a data directory from a backup

            A backup holds the SECRET KEYS of this machine: whoever has the file can read the workspace and write in \
            your name. Only you can read the file; keep it where that stays so. The files of /api/file are not in it.

            \(ExitStatus.line(ExitStatus.common))
            """,
        subcommands: [BackupWriteCommand.self, BackupVerifyCommand.self, BackupRestoreCommand.self],
        defaultSubcommand: BackupWriteCommand.self
    )
}

struct BackupWriteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "write",
        abstract: "Write a backup, or have the daemon write one regularly. (Default.)",
        discussion: """
            The backup shows one moment, and holds every write that was acknowledged before it began; nobody waits for \
            it. It needs room for twice the size of the database. FILE must not exist, or be a backup that --replace \
            replaces. Without FILE, the backup goes to the folder of the regular ones.

            With --every, the daemon writes backups to the folder, now and after each such time, and removes the \
            oldest ones of this machine beyond --keep. It makes up for those that it missed, and writes none while the \
            disk with the folder is not mounted. "peerd status" shows the last backup and failures; --every off ends \
            it. Each backup holds the SECRET KEYS of this machine.
            """
    )

    @OptionGroup var options: DataOptions

    @Option(help: ArgumentHelp("The time between two backups: 30m, 6h, 1d, 2w or off.", valueName: "time"))
    var every: String?

    @Option(help: "The number of backups to keep. Default: 7.")
    var keep: Int?

    @Option(
        name: .customLong("to"),
        help: ArgumentHelp("The folder of regular backups, which must exist. Default: as before.", valueName: "dir"),
        completion: .directory
    )
    var folder: String?

    @Flag(name: .customLong("replace"), help: "Replace FILE if it is a backup.")
    var replaces = false

    @Argument(help: ArgumentHelp("The file to write.", valueName: "file"), completion: .file())
    var path: String?

    private static let usualCount = 7

    func run() async throws {
        guard let every else {
            guard self.keep == nil, self.folder == nil else {
                throw CommandFailure(.usage, "--keep and --to need --every.")
            }
            let path = self.path.map { ArgumentPath.absolute($0) }
            return try await self.options.work(hasEffect: true) {
                try await $0.backUp(to: path, replaces: self.replaces)
            }
        }
        guard self.path == nil, !self.replaces else {
            throw CommandFailure(.usage, "Name a file or --every, not both; --to names the folder of regular backups.")
        }
        if every == "off" { return try await self.options.work(mayWrite: true) { try await $0.endBackups() } }
        guard let seconds = DurationText.seconds(every), BackupSchedule.secondsRange.contains(seconds) else {
            throw CommandFailure(.usage, "--every needs a time such as 30m, 6h, 1d or 2w, at most a year; or off.")
        }
        if let keep, !BackupSchedule.keptRange.contains(keep) {
            throw CommandFailure(.usage, "--keep needs a number from 1 to \(BackupSchedule.keptRange.upperBound).")
        }
        let folder = self.folder.map { ArgumentPath.absolute($0) }
        try await self.options.work(mayWrite: true) { workplace in
            try await workplace.scheduleBackups(every: seconds, keep: self.keep, defaultKeep: Self.usualCount, folder)
        }
    }
}

struct BackupVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "verify",
        abstract: "Check a backup: checksums, the database, and every change and signature.",
        discussion: """
            Examines a copy of the database in a temporary directory of your own ($TMPDIR), as "peerd doctor" does. \
            Exits with code 1 if there is a problem.
            """,
        exitCodes: [.success, .failure, .usage, .storage]
    )

    // No data directory is needed; it is taken so that a script can name one to every verb.
    @OptionGroup var options: DataOptions

    @Argument(help: ArgumentHelp("The backup.", valueName: "file"), completion: .file())
    var path: String

    func run() async throws {
        let file = URL(fileURLWithPath: ArgumentPath.absolute(self.path))
        let diagnosis = try await EndingSignals.cancelling {
            defer { StandardStreams.progress("") }
            return try await Backup.verify(at: file) { StandardStreams.progress($0) }
        }
        let output = CommandOutput(isJSON: self.options.isJSON)
        try output.report(DiagnosisAnswer(diagnosis))
        try output.flush()
        if !diagnosis.isHealthy { throw CommandFailure(.failure, "The backup has a problem; follow the advice above.") }
    }
}

struct BackupRestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        verb: "restore",
        abstract: "Make a data directory from a backup.",
        discussion: """
            DIR must be missing or empty. The machine continues under a new replica id, so nothing is lost: what was \
            written after the backup comes back from the other machines. If the old directory is still in use, both \
            sync with the other machines, and the writes of both count. The checksums are checked; "peerd backup \
            verify" checks more.
            """,
        exitCodes: [.success, .failure, .usage, .workspace, .storage]
    )

    @OptionGroup var options: DataOptions

    @Argument(help: ArgumentHelp("The backup.", valueName: "file"), completion: .file())
    var path: String

    func run() async throws {
        let file = URL(fileURLWithPath: ArgumentPath.absolute(self.path))
        let directory = URL(fileURLWithPath: try self.options.directory.paths.directory, isDirectory: true)
        let backup = try await EndingSignals.cancelling {
            defer { StandardStreams.progress("") }
            return try await Backup.restore(from: file, to: directory) { part in
                StandardStreams.progress("restored \(Int(part * 100)) %")
            }
        }
        let milliseconds = backup.date.millisecondsSince1970
        let json = JSON.object([
            "directory": .string(directory.path), "workspace": .string(backup.workspace),
            "device": .string(backup.device), "device_name": .string(backup.deviceName), "time_ms": .int(milliseconds),
        ])
        let state = "\"\(backup.deviceName)\" as it was at \(PlainText.time(milliseconds))"
        try self.options.show(json, "Restored \(state) to \(directory.path); start \"peerd run\".", hasEffect: true)
    }
}

/// Paths as command lines name them.
private enum ArgumentPath {
    /// The path from the root: a daemon has another current directory.
    static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }
}
