internal import Foundation
internal import PeerdKit
internal import Synchronization

/// Takes in objects of a file.
struct ImportRoute: Sendable {
    let workspace: Workspace

    func respond(to request: Request) async throws -> Response {
        let workspace = self.workspace
        try request.requireJSON()
        return try await LineStream.response(to: request) { progress in
            // Read within the work, so that a client hears of it while its file is on the way.
            let bytes = try await request.body.collect(upTo: APILimits.importByteCountMax)
            let done = Progress()
            do {
                let report = try await workspace.importObjects(from: Data(bytes)) { report in
                    done.report.withLock { $0 = report }
                    progress("imported \(report.objectCount) of \(report.totalCount) objects")
                }
                return .object(["objects": .int(Int64(report.objectCount))])
            } catch {
                guard let report = done.report.withLock({ $0 }) else { throw error }
                let total = PlainText.count(report.totalCount, "object")
                let part = "The first \(report.objectCount) of \(total) were imported."
                var problem = Problem(error)
                problem.message += " \(part)"
                problem.detail += " \(part)"
                throw problem
            }
        }
    }

    private final class Progress: Sendable {
        let report = Mutex<Workspace.ImportReport?>(nil)
    }
}
