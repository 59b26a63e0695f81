internal import CRDTCore
internal import Foundation
internal import LocalAPI
internal import PeerdKit
internal import Persistence

/// The verbs of backups.
extension Workplace {
    /// Writes a backup to a file, or to the folder of the regular ones.
    func backUp(to path: String?, replaces: Bool) async throws {
        let folder = path.map { URL(fileURLWithPath: $0).standardizedFileURL.deletingLastPathComponent().path }
        let members: [ExactText: JSON?] = [
            "path": path.map { .string($0) }, "replace": .bool(replaces),
            "seen_as": try folder.map { .string(try self.name(of: $0)) },
        ]
        let backup: BackupAnswer = try await self.work(APIRequest(.post, "api", "backup", body: members))
        try self.output.show(backup, "Wrote \(backup.path), \(PlainText.bytes(backup.bytes)). It holds secret keys.")
        if let warning = backup.warning { try self.output.note("The backup is there, but \(warning).") }
    }

    /// What the system calls a folder: a daemon may see another one under its path.
    private func name(of folder: String) throws(CommandFailure) -> String {
        if let state = FileState(of: folder) { return state.name }
        let reason = SystemText.ofErrno()
        throw CommandFailure(
            .usage,
            "\(folder) cannot be used for backups: \(reason). Name a folder that exists and that you can write to."
        )
    }

    /// Has the daemon write backups; what is not named stays as it was.
    func scheduleBackups(every seconds: Int, keep: Int?, defaultKeep: Int, _ folder: String?) async throws {
        let before = try await self.backups().schedule
        guard let folder = folder ?? before?.folder else {
            throw CommandFailure(.usage, "Name the folder of the backups with --to DIR.")
        }
        var request = APIRequest(.put, "api", "backup", "schedule")
        let keep = keep ?? before?.keep ?? defaultKeep
        let plan = JSON(BackupScheduleAnswer(everySeconds: seconds, keep: keep, folder: folder))
        request.body = .json(plan.with(["seen_as": try self.name(of: folder)]))
        try self.report(try await self.caller.answer(request))
        if !self.daemonRuns {
            try self.output.note("No daemon runs yet; the backups begin once \"peerd run\" does.")
        }
    }

    /// Ends regular backups.
    func endBackups() async throws {
        try await self.caller.send(APIRequest(.delete, "api", "backup", "schedule"))
        try self.report(try await self.backups())
    }

    private func backups() async throws -> BackupStatusAnswer {
        try await self.caller.answer(APIRequest(.get, "api", "backup"))
    }

    private func report(_ status: BackupStatusAnswer) throws {
        if self.output.isJSON { return try self.output.json(status) }
        for sentence in status.sentences { try self.output.line(sentence) }
    }
}

extension CommandOutput {
    /// Prints the findings of a check.
    func report(_ diagnosis: DiagnosisAnswer) throws {
        if self.isJSON { return try self.json(diagnosis) }
        for finding in diagnosis.findings {
            let level = finding.level.known
            let mark = level == .ok ? "ok      " : level == .warning ? "warning " : "PROBLEM "
            try self.line("\(mark) \(finding.subject): \(finding.detail)")
            if let advice = finding.advice { try self.line("          -> \(advice)") }
        }
    }
}
