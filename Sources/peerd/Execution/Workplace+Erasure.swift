internal import CRDTCore
internal import LocalAPI

/// The verb that erases the past of a property.
extension Workplace {
    func erase(_ name: String, of object: String) async throws {
        try await self.requireMainTimeline("erase")
        let id = try ObjectArgument.checked(object)
        let request = APIRequest(.post, "api", "erasure", body: ["object": .string(id), "property": .string(name)])
        let report: ErasureAnswer = try await self.work(request)
        if self.output.isJSON { return try self.output.json(report) }
        let count = report.erasedWrites
        try self.output.line(
            count == 0
                ? "There is no earlier value; nothing was erased."
                : "Erased \(PlainText.count(count, "value")) here; other machines erase them when they sync."
        )
        if report.pending {
            try self.output.line(
                "An open branch shows the value of before, which is the one of now; it stays in the log until the "
                    + "branch is merged, deleted or up to date."
            )
        }
        if !report.snapshots.isEmpty {
            try self.output.line(
                "\(PlainText.count(report.snapshots.count, "snapshot")) of this machine with that property did not "
                    + "change: \(report.snapshots.joined(separator: ", ")). See \"peerd snapshot delete\"."
            )
        }
        if let failure = report.fileFailure {
            try self.output.line(
                "The files of the database may hold erased bytes still: \(failure) A daemon tries again until they "
                    + "are gone; without one, run \"peerd erase\" once more."
            )
        }
    }
}
