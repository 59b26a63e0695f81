internal import CRDTCore
internal import LocalAPI

/// The verbs of backups.
extension Workplace {
    /// Writes a backup to a file, or to the folder of the regular ones.
    func backUp(to path: String?) async throws {
        var request = APIRequest(.post, "api", "backup")
        request.body = .json(.object(path.map { ["path": .string($0)] } ?? [:]))
        let backup = try await self.work(request)
        if self.output.format.isJSON { return try await self.output.json(backup) }
        let size = PlainText.bytes(UInt64(clamping: backup["bytes"]?.integer ?? 0))
        try await self.output.line("Wrote \(backup["path"]?.text ?? "?"), \(size). It holds secret keys.")
    }

    /// Has the daemon write backups; what is not named stays as it was.
    func scheduleBackups(every seconds: Int, keep: Int?, defaultKeep: Int, _ folder: String?) async throws {
        let before = try await self.caller.json(APIRequest(.get, "api", "backup"))["schedule"]
        guard let folder = folder ?? before?["folder"]?.text else {
            throw CommandFailure(.usage, "Name the folder of the backups with --to DIR.")
        }
        var request = APIRequest(.put, "api", "backup", "schedule")
        request.body = .json(
            .object([
                "every_seconds": .int(Int64(seconds)), "folder": .string(folder),
                "keep": .int(keep.map { Int64($0) } ?? before?["keep"]?.integer ?? Int64(defaultKeep)),
            ])
        )
        let status = try await self.caller.json(request)
        try await self.report(status)
        if !self.daemonRuns {
            try await self.output.note("No daemon runs yet; the backups begin once \"peerd run\" does.")
        }
    }

    /// Ends regular backups.
    func endBackups() async throws {
        _ = try await self.caller.json(APIRequest(.delete, "api", "backup", "schedule"))
        try await self.report(try await self.caller.json(APIRequest(.get, "api", "backup")))
    }

    private func report(_ status: JSON) async throws {
        if self.output.format.isJSON { return try await self.output.json(status) }
        for sentence in BackupReport.sentences(.object(["backup": status])) { try await self.output.line(sentence) }
    }
}

extension CommandOutput {
    /// Prints the findings of a check.
    func report(_ diagnosis: JSON) async throws {
        if self.format.isJSON { return try await self.json(diagnosis) }
        for finding in diagnosis["findings"]?.elements ?? [] {
            let level = finding["level"]?.text
            let mark = level == "ok" ? "ok      " : level == "warning" ? "warning " : "PROBLEM "
            try await self.line("\(mark) \(finding["subject"]?.text ?? ""): \(finding["detail"]?.text ?? "")")
            if let advice = finding["advice"]?.text { try await self.line("          -> \(advice)") }
        }
    }
}
