internal import CRDTCore
internal import LocalAPI

/// The verb that drops old values.
extension Workplace {
    func compact(keepingSeconds seconds: Int, _ isDryRun: Bool) async throws {
        var request = APIRequest(.post, "api", "compaction")
        request.body = .json(.object(["keep_seconds": .int(Int64(seconds)), "dry_run": .bool(isDryRun)]))
        let report = try await self.work(request)
        if self.output.format.isJSON { return try await self.output.json(report) }
        func count(_ name: String) -> Int64 { report[name]?.integer ?? 0 }
        func bytes(_ name: String) -> String { PlainText.bytes(UInt64(clamping: count(name))) }
        let writes = PlainText.count(count("dropped_writes"), "value")
        let verb = isDryRun ? "Would drop" : "Dropped"
        try await self.output.line(
            "\(verb) \(writes), \(bytes("dropped_bytes")) of the log, of \(count("examined_changes")) changes up to "
                + "\(PlainText.time(milliseconds: UInt64(clamping: count("horizon_ms"))))."
        )
        if report["file_bytes_after"]?.integer != nil {
            try await self.output.line(
                "The database has \(bytes("file_bytes_after")); before, it had \(bytes("file_bytes_before"))."
            )
        }
        if let failure = report["shrink_failure"]?.text {
            try await self.output.line("The file was not made smaller: \(failure) Compact again once that is mended.")
        }
        let lacking = (report["lacking_machines"]?.elements ?? []).compactMap(\.text)
        if !lacking.isEmpty {
            try await self.output.line(
                "Kept what these machines have not stored yet: \(lacking.joined(separator: ", ")). Sync with them, or "
                    + "take a machine that is gone off the list with “peerd peers forget”, and compact again."
            )
        }
    }
}
