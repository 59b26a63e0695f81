internal import CRDTCore
internal import LocalAPI

/// The verbs of backups.
extension Workplace {
    /// Writes a backup to a file, or to the folder of the regular ones.
    func backUp(to path: String?) async throws {
        let request = APIRequest(.post, "api", "backup", body: ["path": path.map { .string($0) }])
        let backup: BackupAnswer = try await self.work(request)
        try self.output.show(backup, "Wrote \(backup.path), \(PlainText.bytes(backup.bytes)). It holds secret keys.")
    }

    /// Has the daemon write backups; what is not named stays as it was.
    func scheduleBackups(every seconds: Int, keep: Int?, defaultKeep: Int, _ folder: String?) async throws {
        let before = try await self.backups().schedule
        guard let folder = folder ?? before?.folder else {
            throw CommandFailure(.usage, "Name the folder of the backups with --to DIR.")
        }
        var request = APIRequest(.put, "api", "backup", "schedule")
        let keep = keep ?? before?.keep ?? defaultKeep
        request.body = .json(JSON(BackupScheduleAnswer(everySeconds: seconds, keep: keep, folder: folder)))
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
