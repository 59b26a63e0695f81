internal import CRDTCore
internal import LocalAPI

/// The verb that drops old values.
extension Workplace {
    func compact(keepingSeconds seconds: Int, _ isDryRun: Bool) async throws {
        let wishes: [ExactText: JSON?] = ["keep_seconds": .int(Int64(seconds)), "dry_run": .bool(isDryRun)]
        let report: CompactionAnswer = try await self.work(APIRequest(.post, "api", "compaction", body: wishes))
        if self.output.isJSON { return try self.output.json(report) }
        let writes = PlainText.count(report.droppedWrites, "value")
        try self.output.line(
            "\(isDryRun ? "Would drop" : "Dropped") \(writes), \(PlainText.bytes(report.droppedBytes)) of the log, of "
                + "\(report.examinedChanges) changes up to \(PlainText.time(report.horizonMs))."
        )
        if let before = report.fileBytesBefore, let after = report.fileBytesAfter {
            try self.output.line(
                "The database has \(PlainText.bytes(after)); before, it had \(PlainText.bytes(before))."
            )
        }
        if let failure = report.shrinkFailure {
            try self.output.line("The file was not made smaller: \(failure) Compact again once that is mended.")
        }
        if !report.lackingMachines.isEmpty {
            let lacking = report.lackingMachines.joined(separator: ", ")
            try self.output.line(
                "Kept what these machines have not stored yet: \(lacking). Sync with them, or take a machine that is "
                    + "gone off the list with “peerd peers forget”, and compact again."
            )
        }
    }
}
