internal import CRDTCore
internal import LocalAPI

/// The verb that erases the past of a property.
extension Workplace {
    func forget(_ name: String, of object: String) async throws {
        try await self.requireMainTimeline("forget")
        var request = APIRequest(.post, "api", "erasure")
        let id = try ObjectArgument.checked(object)
        request.body = .json(.object(["object": .string(id), "property": .string(name)]))
        let report = try await self.work(request)
        if self.output.format.isJSON { return try await self.output.json(report) }
        let count = report["erased_writes"]?.integer ?? 0
        try await self.output.line(
            count == 0
                ? "There is no earlier value; nothing was erased."
                : "Erased \(PlainText.count(count, "value")) here; other machines erase them when they sync."
        )
        if report["pending"]?.isTrue ?? false {
            try await self.output.line(
                "An open branch shows the value of before, which is the one of now; it stays in the log until the "
                    + "branch is merged, deleted or up to date."
            )
        }
        let snapshots = (report["snapshots"]?.elements ?? []).compactMap(\.text)
        if !snapshots.isEmpty {
            try await self.output.line(
                "\(PlainText.count(Int64(snapshots.count), "snapshot")) of this machine with that property did not "
                    + "change: \(snapshots.joined(separator: ", ")). See \"peerd snapshot delete\"."
            )
        }
        if let failure = report["file_failure"]?.text {
            try await self.output.line(
                "The files of the database may hold erased bytes still: \(failure) A daemon tries again until they "
                    + "are gone; without one, run \"peerd forget\" once more."
            )
        }
    }
}
